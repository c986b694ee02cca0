/** `npm start` and `npm test` right after `git clone`: what is run, and with what. npm and Node are stand-ins that say how they were called. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { environmentWith, machineNode, makeClone } from '../test/support/clone.ts';
import { eventuallyFrom, watchProcess } from '../test/support/test-process.ts';

let clone: string;

beforeEach(() => {
  clone = makeClone();
  mkdirSync(join(clone, 'stand-ins'));
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

const environment = () => environmentWith(join(clone, 'stand-ins', 'npm'), { CLONE: clone });

function run(script: string, ...words: string[]) {
  const { status, stderr } = spawnSync(machineNode, [join(clone, 'scripts', script), ...words], {
    cwd: tmpdir(),
    env: environment(),
    encoding: 'utf8',
  });
  return { status, stderr, called: calls() };
}

const callsFile = () => join(clone, 'called');

/** The calls of the stand-ins so far. The file stays, because a stand-in may still append to it. */
function callsSoFar(): string[] {
  return existsSync(callsFile()) ? readFileSync(callsFile(), 'utf8').replaceAll(clone, '.').trim().split('\n') : [];
}

/** What they were called with since this was last asked. Nobody is at it. */
function calls(): string[] {
  const called = callsSoFar();
  rmSync(callsFile(), { force: true });
  return called;
}

/** Beside others. */
function begin(script: string) {
  const child = spawn(machineNode, [join(clone, 'scripts', script)], {
    env: environment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const started = watchProcess(script, child);
  const ended = started.exited.then(({ code }) => code);
  const until = (check: () => void) => eventuallyFrom(started, check);
  return { child, ended, until, stderr: () => stderr };
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
  ])('reinstalls if the installation $reason', ({ damage }) => {
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

  test('npm cannot repair an unreadable lockfile', () => {
    program('stand-ins/npm', installs);
    writeFileSync(join(clone, 'package-lock.json'), '{"packa');
    const { status, stderr } = run(script);
    expect(status).toBe(1);
    expect(stderr).toMatch(/package-lock\.json cannot be read .*: restore it, then run the command again\./);
  });
});

describe('an installation where others are at it', () => {
  const lock = () => join(clone, '.kidp', 'install.lock');
  /** An npm that is at it until there is a file `go`, or the clone is gone. */
  const installsSlowly = `echo "begin" >> "$CLONE/called"; while [ -e "$CLONE" ] && [ ! -e "$CLONE/go" ]; do sleep 0.05; done
${installs}`;

  test('of many that find the lock of one that was killed, one installs and all go on', async () => {
    program('stand-ins/npm', installs);
    mkdirSync(join(clone, '.kidp'));
    const dead = spawnSync(process.execPath, ['-e', '']).pid;
    writeFileSync(lock(), JSON.stringify({ ...own(), processes: [{ pid: dead, startTime: '1' }] }));
    const many = ['start.mjs', 'test.mjs', 'start.mjs', 'test.mjs'].map(begin);
    expect(await Promise.all(many.map(({ ended }) => ended))).toEqual([7, 7, 7, 7]);
    const called = calls();
    expect(called.filter((line) => line.startsWith('npm'))).toEqual([installation]);
    expect(called.filter((line) => line.startsWith('node'))).toHaveLength(4);
    expect(existsSync(lock())).toBe(false);
  });

  test('one that was killed leaves its npm at it, which is waited for', async () => {
    program('stand-ins/npm', installsSlowly);
    const killed = begin('start.mjs');
    await killed.until(() => {
      expect(callsSoFar()).toEqual(['begin']);
      // The script and its npm: a script that is killed before it has named npm leaves nothing to wait for.
      expect(JSON.parse(readFileSync(lock(), 'utf8')).processes).toHaveLength(2);
    });
    killed.child.kill('SIGKILL');
    await killed.ended;
    const next = begin('start.mjs');
    const waiting = `kidp: waiting for process ${killed.child.pid}, which is installing\n`;
    await next.until(() => expect(next.stderr()).toBe(waiting));
    writeFileSync(join(clone, 'go'), '');
    expect(await next.ended).toBe(7);
    expect(calls()).toEqual(['begin', installation, 'node ./src/cli/main.ts up']);
  });

  /** As a process here writes itself down. */
  function own(): object {
    const { stdout } = spawnSync(
      machineNode,
      [
        '--input-type=module',
        '-e',
        `import { readFileSync } from 'node:fs';
import { tryLock } from ${JSON.stringify(join(clone, 'scripts', 'lock.mjs'))};
const { lock } = tryLock('own');
process.stdout.write(readFileSync('own', 'utf8'));
lock.release();`,
      ],
      { cwd: clone, encoding: 'utf8' },
    );
    return JSON.parse(stdout);
  }
});

describe('if npm runs no install scripts', () => {
  const rebuild = 'npm rebuild node --ignore-scripts=false --loglevel=error';
  /** Without the script of the package `node` there is no Node. */
  const withoutScripts = `${installs}
rm "$CLONE/node_modules/node/bin/node"`;

  test('the one of the package node still runs', () => {
    program(
      'stand-ins/npm',
      `if [ "$1" = rebuild ]; then echo "npm $*" >> "$CLONE/called"; cp "$CLONE/stand-ins/node" "$CLONE/node_modules/node/bin/node"; exit; fi
${withoutScripts}`,
    );
    const { status, stderr, called } = run('start.mjs');
    expect({ status, called }).toEqual({ status: 7, called: [installation, rebuild, 'node ./src/cli/main.ts up'] });
    expect(stderr).toMatch(/^kidp: running the install script of the package "node", which npm skipped, 0 s$/m);
  });

  test('and that fails, it is said why and what to do', () => {
    program(
      'stand-ins/npm',
      `if [ "$1" = rebuild ]; then echo "npm error no" >&2; exit 1; fi
${withoutScripts}`,
    );
    const { status, stderr } = run('start.mjs');
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^npm error no\n\nkidp: \S+ is missing\. It comes with the install script .* `ignore-scripts` is set.*: run `npm ci --ignore-scripts=false`, then run the command again\.$/m,
    );
    expect(existsSync(join(clone, '.kidp', 'install.lock'))).toBe(false);
  });
});
