/** The npm packages that kidp needs at run time beside its bundle, from the lock file. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageArchitecture } from '../../src/controlplane/index.ts';

interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Dependency extends Pick<LockedPackage, 'version' | 'integrity'> {
  readonly name: string;
  /** Its folder below the root, such as `node_modules/a/node_modules/b`. */
  readonly folder: string;
  /** Whether it is made for one platform. */
  readonly isNative: boolean;
}

/** Returns the dependencies on one architecture. */
export function productionPackages(root: string, architecture: ImageArchitecture): readonly Dependency[] {
  const packages = lockedPackages(root);
  const found = new Set<string>();
  const visit = (place: string): void => {
    const { dependencies, optionalDependencies, peerDependencies } = packages[place] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const folder = resolve(packages, place, name);
      if (folder === undefined || found.has(folder) || !runsOn(packages[folder], architecture)) continue;
      found.add(folder);
      visit(folder);
    }
  };
  visit('');
  return [...found].sort().map((folder) => {
    const { version = '', integrity = '', os } = packages[folder] ?? {};
    return { name: nameOf(folder), folder, version, integrity, isNative: os !== undefined };
  });
}

/** Returns the packages that are made for other platforms, as NAME@VERSION. */
export const foreignPackages = (root: string, architecture: ImageArchitecture): readonly string[] =>
  Object.entries(lockedPackages(root))
    .filter(([, locked]) => !runsOn(locked, architecture))
    .map(([folder, { version }]) => `${nameOf(folder)}@${version}`);

const lockedPackages = (root: string) =>
  (
    JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Readonly<Record<string, LockedPackage>>;
    }
  ).packages;

const nameOf = (folder: string): string => folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);

function runsOn(locked: LockedPackage | undefined, architecture: ImageArchitecture): boolean {
  const allows = (list: readonly string[] | undefined, wanted: string) => list === undefined || list.includes(wanted);
  return (
    allows(locked?.os, 'linux') &&
    allows(locked?.cpu, architecture === 'amd64' ? 'x64' : 'arm64') &&
    allows(locked?.libc, 'glibc')
  );
}

/** Node looks for a package in each folder on the way up. */
function resolve(packages: Readonly<Record<string, unknown>>, place: string, name: string): string | undefined {
  for (let at = place; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const folder = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (folder in packages) return folder;
    if (at === '') return undefined;
  }
}
