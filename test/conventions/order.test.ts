/** What a reviewer would otherwise have to look for by hand. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { complaintsOf, root } from './tools.ts';

const read = (file: string) => readFileSync(join(root, file), 'utf8');
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '');

test('the lockfile holds no download addresses', () => {
  expect(read('package-lock.json')).not.toMatch(/"resolved":/);
});

test('the lockfile wants what package.json wants, and has all that its packages want', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  const { devDependencies, peerDependencies } = JSON.parse(read('package.json'));
  expect(packages['']).toMatchObject({ devDependencies, peerDependencies });
  // As Node looks for it: beside the package, then beside each one around it.
  const isFound = (name: string, from: string): boolean =>
    `${from === '' ? '' : `${from}/`}node_modules/${name}` in packages ||
    (from !== '' && isFound(name, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/')))));
  const missing = Object.entries(packages).flatMap(([path, each]) =>
    // Those of other platforms too: `npm ci` refuses a lockfile that leaves them out.
    Object.keys({ ...each.dependencies, ...each.optionalDependencies })
      .filter((name) => !isFound(name, path))
      .map((name) => `${path} wants ${name}`),
  );
  expect(missing).toEqual([]);
  const unsigned = Object.entries(packages).filter(([path, { integrity }]) => path !== '' && integrity === undefined);
  expect(unsigned.map(([path]) => path)).toEqual([]);
});

interface LockedPackage {
  readonly integrity?: string;
  readonly dependencies?: object;
  readonly optionalDependencies?: object;
}

test('every dependency has an exact version, and the package installs none', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json'));
  const loose = Object.entries(devDependencies).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)));
  expect({ dependencies, loose }).toEqual({ dependencies: undefined, loose: [] });
});

test('every package that servers ask for is used', () => {
  const { peerDependencies } = JSON.parse(read('package.json'));
  const sources = tracked
    .filter((file) => /^(src|scripts|bin)\/.*\.(ts|js|mjs)$/.test(file))
    .map(read)
    .join('\n');
  const unused = Object.keys(peerDependencies).filter((name) => !new RegExp(`['"]${name}(/[^'"]*)?['"]`).test(sources));
  expect(unused).toEqual([]);
});

test('no file names a path of the machine it was written on', () => {
  const offending = tracked
    .filter(
      (file) =>
        /\.(ts|js|mjs|md|ya?ml|json|go|mod|sh)$|^\.ci\/|Dockerfile$/.test(file) &&
        file !== 'test/conventions/order.test.ts',
    )
    .filter((file) => /(^|[\s"'`(=])\/(work|root|home\/\w+)\//m.test(read(file)));
  expect(offending).toEqual([]);
});

test('the source is formatted and lint-free', async () => {
  expect(await complaintsOf('biome', ['check', '--colors=off', '.'])).toBe('');
});

test('the types check', async () => {
  expect(await complaintsOf('tsc', ['-p', 'tsconfig.json', '--singleThreaded'])).toBe('');
});
