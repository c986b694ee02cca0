/** `npm start` and `npm test` right after `git clone`: what is run, and with what. npm and Node are stand-ins that say how they were called. */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
let clone: string;

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'kidp-clone-'));
  mkdirSync(join(clone, 'scripts'));
  mkdirSync(join(clone, 'stand-ins'));
  const scripts = ['start.mjs', 'test.mjs', 'install.mjs', 'hand-over.mjs'].map((name) => join('scripts', name));
  for (const file of ['package.json', 'package-lock.json', ...scripts]) cpSync(join(root, file), join(clone, file));
  program('stand-ins/node', 'echo "node $*" >> "$CLONE/called"; exit 7');
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

function program(file: string, text: string): void {
  writeFileSync(join(clone, file), `#!/bin/sh\n${text}\n`);
  chmodSync(join(clone, file), 0o755);
}

/** What `npm ci` leaves behind, as far as it counts. */
const installs = `echo "npm $*" >> "$CLONE/called"
rm -rf "$CLONE/node_modules" && mkdir -p "$CLONE/node_modules/node/bin"
cp "$CLONE/stand-ins/node" "$CLONE/node_modules/node/bin/node"
cp "$CLONE/package-lock.json" "$CLONE/node_modules/.package-lock.json"`;

function run(script: string, ...words: string[]) {
  const { npm_execpath: _, ...environment } = process.env;
  const env = { ...environment, CLONE: clone, PATH: `${join(clone, 'stand-ins')}:${process.env.PATH}` };
  const { status, stderr } = spawnSync(process.execPath, [join(clone, 'scripts', script), ...words], {
    cwd: tmpdir(),
    env,
    encoding: 'utf8',
  });
  const file = join(clone, 'called');
  const called = existsSync(file) ? readFileSync(file, 'utf8').replaceAll(clone, '.').trim().split('\n') : [];
  rmSync(file, { force: true });
  return { status, stderr, called };
}

const installation = 'npm ci --no-audit --no-fund --loglevel=error';

describe.each([
  { script: 'start.mjs', entry: 'node ./src/cli/main.ts up' },
  { script: 'test.mjs', entry: 'node ./scripts/test.ts' },
])('$script', ({ script, entry }) => {
  test('installs, hands over to the Node that was installed, and ends as that ends', () => {
    program('stand-ins/npm', installs);
    const { status, stderr, called } = run(script, '--reset');
    expect(called).toEqual([installation, `${entry} --reset`]);
    expect(status).toBe(7);
    expect(stderr).toMatch(/^kidp: installing \d+ npm packages, 0 s/);
    expect(run(script).called).toEqual([entry]);
  });

  test.each([
    { reason: 'was interrupted', damage: 'rm "$CLONE/node_modules/.package-lock.json"' },
    { reason: 'was cut off on a full disk', damage: 'printf "{\\"packa" > "$CLONE/node_modules/.package-lock.json"' },
    { reason: 'is of an older lockfile', damage: 'echo "{}" > "$CLONE/node_modules/.package-lock.json"' },
    { reason: 'has no Node', damage: 'rm -r "$CLONE/node_modules/node"' },
  ])('installs anew where the installation $reason', ({ damage }) => {
    program('stand-ins/npm', installs);
    run(script);
    spawnSync('sh', ['-c', damage], { env: { ...process.env, CLONE: clone } });
    const { status, called } = run(script);
    expect({ status, called }).toEqual({ status: 7, called: [installation, entry] });
  });

  test.each([
    {
      reason: 'no network',
      says: 'npm error code ENOTFOUND',
      sentence: /^kidp: the npm registry cannot be reached: .*$/m,
    },
    { reason: 'no disk', says: 'npm error code ENOSPC', sentence: /^kidp: the disk is full: .*$/m },
  ])('says in one sentence what is missing: $reason', ({ says, sentence }) => {
    program('stand-ins/npm', `echo "${says}" >&2; exit 1`);
    const { status, stderr, called } = run(script);
    expect({ status, called }).toEqual({ status: 1, called: [] });
    expect(stderr).toMatch(sentence);
    expect(existsSync(join(clone, '.kidp', 'install.lock'))).toBe(false);
  });

  test("a lockfile that cannot be read is not npm's to mend", () => {
    program('stand-ins/npm', installs);
    writeFileSync(join(clone, 'package-lock.json'), '{"packa');
    const { status, stderr } = run(script);
    expect(status).toBe(1);
    expect(stderr).toMatch(/package-lock\.json cannot be read .*: restore it, then run the command again\./);
  });
});
