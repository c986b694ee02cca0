/** What is published: built, laid out as npm would, and used as a stranger would. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LaidOutPackage, layOutPackage } from '../support/package.ts';
import { root } from './tools.ts';

const { exports, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let built: LaidOutPackage;

beforeAll(async () => {
  built = await layOutPackage();
});
afterAll(() => built?.remove());

const run = (words: readonly string[]) => spawnSync(process.execPath, words, { cwd: built.place, encoding: 'utf8' });

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

test('no test and no test helper is shipped, except kidp/runtime/testing', () => {
  const shipped = readdirSync(join(built.place, 'dist'), { recursive: true, encoding: 'utf8' });
  expect(shipped.filter((file) => /\.test\.|(^|\/)support\//.test(file))).toEqual([]);
  expect(shipped).toContain('runtime/testing/index.js');
});
