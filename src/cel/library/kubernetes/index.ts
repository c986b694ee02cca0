/** The function libraries of admission policies in Kubernetes 1.36. */

import type { Library } from '../../declarations.ts';
import { sets } from '../sets.ts';
import { authorization } from './authorizer.ts';
import { jsonPatch } from './json-patch.ts';
import { lists } from './lists.ts';
import { listsExtension } from './lists-extension.ts';
import { namedFormats } from './named-format.ts';
import { cidr, ip } from './network.ts';
import { quantities } from './quantity.ts';
import { regex } from './regex.ts';
import { semvers } from './semver.ts';
import { strings } from './strings.ts';
import { urls } from './urls.ts';

/** The libraries that newer extensions do not replace. */
export const ownLibraries: readonly Library[] = [
  urls,
  regex,
  lists,
  authorization,
  quantities,
  sets,
  namedFormats,
  semvers,
  jsonPatch,
];

export const kubernetesLibraries: readonly Library[] = [...ownLibraries, strings, ip, cidr, listsExtension];
