/** What package.json says. `npm run build` replaces this file by one that contains it. */
import { readFileSync } from 'node:fs';
import { packageFile } from '../../runtime/internal.ts';

const read = (): { version: string; peerDependencies: Record<string, string> } =>
  JSON.parse(readFileSync(packageFile('package.json'), 'utf8'));

/** `version` returns the version of this package. */
export const version = (): string => read().version;

/** `serverPackages` returns the packages that only servers need, with their versions: npm does not install them with this package. */
export const serverPackages = (): Readonly<Record<string, string>> => read().peerDependencies;
