/** What is published: built, laid out as npm would, and used as a stranger would. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { complaintsOf, root } from './tools.ts';

// Below node_modules, so that the package finds its dependencies and Node strips no types: only what was built can run.
const place = join(root, 'node_modules', '.cache', `kidp-package-${process.pid}`);
const { files, exports, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

beforeAll(async () => {
  mkdirSync(place, { recursive: true });
  // Whether the types check is a test of its own; here only what keeps it from being written counts.
  const words = ['-p', 'tsconfig.build.json', '--noCheck', '--singleThreaded', '--outDir', join(place, 'dist')];
  expect(await complaintsOf('tsc', words)).toBe('');
  for (const file of ['package.json', ...files.filter((name: string) => name !== 'dist')]) {
    cpSync(join(root, file), join(place, file), { recursive: true });
  }
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

const run = (words: readonly string[]) => spawnSync(process.execPath, words, { cwd: place, encoding: 'utf8' });

test('kidp runs', () => {
  const { stdout, stderr } = run(['bin/kidp.js', '--version']);
  expect({ stdout, stderr }).toEqual({ stdout: `${version}\n`, stderr: '' });
});

test('kidp check decides about the examples', () => {
  const { status, stdout } = run(['bin/kidp.js', 'check', '-f', 'examples/quickstart/team.yaml', '-o', 'json']);
  expect(status).toBe(0);
  expect(JSON.parse(stdout).map(({ result }: { result: string }) => result)).toEqual(['skip', 'skip', 'skip', 'skip']);
});

test.each(Object.keys(exports).filter((name) => name !== './package.json'))('kidp%s can be imported', (name) => {
  const { status, stderr } = run([
    '--input-type=module',
    '-e',
    `await import(${JSON.stringify(name.replace('.', 'kidp'))})`,
  ]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('without arguments kidp says what there is, and a wrong word is exit code 2', () => {
  expect(run(['bin/kidp.js', '--help']).stdout).toMatch(/up .*\n[\s\S]*check /);
  expect(run(['bin/kidp.js', 'wrong']).status).toBe(2);
});
