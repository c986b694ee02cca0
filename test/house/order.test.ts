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

test('every dependency has an exact version', () => {
  const { dependencies, devDependencies } = JSON.parse(read('package.json'));
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)),
  );
  expect(loose).toEqual([]);
});

test('every dependency is used', () => {
  const { dependencies } = JSON.parse(read('package.json'));
  const sources = tracked
    .filter((file) => /^(src|scripts|bin)\/.*\.(ts|js|mjs)$/.test(file))
    .map(read)
    .join('\n');
  const unused = Object.keys(dependencies).filter(
    (name) => name !== 'node' && !new RegExp(`['"]${name}(/[^'"]*)?['"]`).test(sources),
  );
  expect(unused).toEqual([]);
});

test('no file names a path of the machine it was written on', () => {
  const offending = tracked
    .filter(
      (file) =>
        /\.(ts|js|mjs|md|ya?ml|json|go|mod|sh)$|^\.ci\/|Dockerfile$/.test(file) && file !== 'test/house/order.test.ts',
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
