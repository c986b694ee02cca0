/** What a fresh clone asks of the machine's own npm and Node, asked of them: nothing here needs the registry. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { environmentWith, machineNode, makeClone, olderNode } from '../test/support/clone.ts';

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-npm-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The registry is out of reach, and what npm keeps goes with the test. */
const environment = (more: NodeJS.ProcessEnv = {}) =>
  environmentWith(machineNode, {
    npm_config_offline: 'true',
    npm_config_cache: join(folder, 'cache'),
    npm_config_update_notifier: 'false',
    ...more,
  });
const run = (program: string, words: readonly string[], cwd: string, more?: NodeJS.ProcessEnv) => {
  const { status, stdout, stderr } = spawnSync(program, words, { cwd, env: environment(more), encoding: 'utf8' });
  return { status, stdout, stderr };
};

test('npm ci accepts the lockfile in an empty directory', () => {
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(root, file), join(folder, file));
  const accepted = run('npm', ['ci', '--dry-run', '--ignore-scripts'], folder);
  expect(accepted).toMatchObject({ status: 0, stdout: expect.stringMatching(/^added \d+ packages/m) });
  const text = readFileSync(join(folder, 'package.json'), 'utf8');
  writeFileSync(join(folder, 'package.json'), text.replace(/"commander": "[^"]+"/, '"commander": "1.0.0"'));
  // One that is out of step sends npm to the registry, which it cannot ask.
  expect(run('npm', ['ci', '--dry-run', '--ignore-scripts'], folder).stderr).toMatch(/commander/);
});

test('npx kidp in the work tree runs the work tree, and asks nobody for it', () => {
  expect(run('npx', ['--no-install', 'kidp', '--version'], root)).toMatchObject({ status: 0, stdout: `${version}\n` });
});

test("kidp runs on the machine's Node", () => {
  expect(run(machineNode, [join(root, 'bin', 'kidp.js'), '--version'], tmpdir())).toEqual({
    status: 0,
    stdout: `${version}\n`,
    stderr: '',
  });
});

test.each(
  [
    { reason: 'it is not installed', files: [], says: /is not installed beside kidp: run `npm ci`/ },
    {
      reason: 'its install script has not run',
      files: ['node_modules/node/package.json'],
      says: /has not run: run `npm rebuild node --ignore-scripts=false`/,
    },
    // A Node that is new enough needs no other.
  ].filter(() => olderNode !== undefined),
)("kidp on an older Node says what to do where the project's is missing: $reason", ({ files, says }) => {
  const clone = makeClone();
  try {
    // With its source it is a work tree, not the package.
    for (const file of ['src/cli/main.ts', ...files]) {
      mkdirSync(dirname(join(clone, file)), { recursive: true });
      writeFileSync(join(clone, file), '{}');
    }
    const { status, stderr } = run(machineNode, [join(clone, 'bin', 'kidp.js'), '--version'], tmpdir());
    expect(status).toBe(2);
    expect(stderr).toMatch(says);
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
});

test('if npm runs no install scripts, npm start runs that of the package node', () => {
  const clone = makeClone();
  try {
    // A package of that name whose program, as that of the real one, is put there by its script.
    const source = join(folder, 'package');
    mkdirSync(join(source, 'bin'), { recursive: true });
    writeFileSync(
      join(source, 'package.json'),
      JSON.stringify({ name: 'node', version: '24.0.0', scripts: { preinstall: 'node install.js' } }),
    );
    writeFileSync(
      join(source, 'install.js'),
      `const fs = require('node:fs');
fs.mkdirSync('bin', { recursive: true });
fs.writeFileSync('bin/node', '#!/bin/sh\\necho "started with $2"\\n', { mode: 0o755 });`,
    );
    execFileSync('tar', ['-czf', join(clone, 'node.tgz'), '-C', folder, 'package']);
    const { scripts } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'));
    const dependencies = { node: 'file:node.tgz' };
    writeFileSync(join(clone, 'package.json'), JSON.stringify({ type: 'module', scripts, dependencies }));
    rmSync(join(clone, 'package-lock.json'));
    expect(run('npm', ['install', '--package-lock-only'], clone)).toMatchObject({ status: 0 });

    const started = run('npm', ['start', '--silent'], clone, { npm_config_ignore_scripts: 'true' });
    expect(started).toMatchObject({ status: 0, stdout: 'started with up\n' });
    expect(started.stderr).toContain('running the install script of the package "node"');
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
});
