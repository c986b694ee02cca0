/** The libraries of Kubernetes with the newest extensions of cel-go, and extensions that Kubernetes does not have. */

import type { Library } from '../../declarations.ts';
import { ownLibraries } from '../kubernetes/index.ts';
import { encoders } from './encoders.ts';
import { lists } from './lists.ts';
import { math } from './math.ts';
import { network } from './network.ts';
import { regex } from './regex.ts';
import { strings } from './strings.ts';

export const extendedLibraries: readonly Library[] = [...ownLibraries, strings, lists, network, math, encoders, regex];
