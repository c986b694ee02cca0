/**
 * Signals on their way through `npm start` and `kidp`: the real scripts, the real Node of the project, and in place of `kidp up` a program
 * that stops as it does and prints what reached it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { environmentWith, machineNode, makeClone, olderNode } from '../test/support/clone.ts';
import { eventuallyFrom, watchProcess } from '../test/support/test-process.ts';

const root = join(import.meta.dirname, '..');
/** Its stop takes until there is a file `finish`. */
const program = `
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilStopped } from ${JSON.stringify(join(root, 'src', 'cli', 'common', 'stop.ts'))};
if (!process.argv.includes('unprepared')) {
  void untilStopped().then(async (reason) => {
    process.stdout.write('stopping (' + reason + ')\\n');
    while (!existsSync('finish')) await sleep(10);
    process.stdout.write('stopped\\n');
    process.exit(5);
  });
}
process.stdout.write('ready ' + process.pid + '\\n');
setInterval(() => {}, 1_000);
`;

let clone: string;
const running = new Set<number>();
beforeEach(() => {
  clone = makeClone();
  mkdirSync(join(clone, 'src', 'cli'), { recursive: true });
  writeFileSync(join(clone, 'src', 'cli', 'main.ts'), program);
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
});
afterEach(() => {
  for (const pid of running) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended, as it should.
    }
  }
  running.clear();
  rmSync(clone, { recursive: true, force: true });
});

const byScript = (...words: string[]) => start(machineNode, ['scripts/start.mjs', ...words]);
const byNpm = (...words: string[]) => start('npm', ['start', '--silent', '--', ...words]);
const byCommand = (...words: string[]) => start(machineNode, ['bin/kidp.js', 'up', ...words]);

describe.each([
  { by: 'scripts/start.mjs', begin: byScript },
  // A Node that is new enough hands over to nobody.
  ...(olderNode === undefined ? [] : [{ by: `bin/kidp.js on ${olderNode}`, begin: byCommand }]),
])('$by', ({ begin }) => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s to it alone reaches the program', async (signal) => {
    const { child, ended } = await begin();
    finish();
    child.kill(signal);
    expect(await ended).toEqual({ code: 5, said: [`stopping (${signal})`, 'stopped'] });
  });

  test('Ctrl-C in a terminal, which both get, is one stop', async () => {
    const { child, ended, until } = await begin();
    await stopAsATerminalDoes(child, until);
    expect(await ended).toEqual({ code: 5, said: ['stopping (SIGINT)', 'stopped'] });
  });

  test('the program stops where it was killed', async () => {
    const { child, ended } = await begin();
    finish();
    child.kill('SIGKILL');
    expect(await ended).toEqual({ code: null, said: ['stopping (parent process exited)', 'stopped'] });
  });

  test('a program that a signal ended exits with the code a shell reports', async () => {
    const { child, ended } = await begin('unprepared');
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 130, said: [] });
  });
});

describe('npm start', () => {
  test('the program stops where npm was killed', async () => {
    const { child, ended } = await byNpm();
    finish();
    child.kill('SIGKILL');
    expect(await ended).toEqual({ code: null, said: ['stopping (parent process exited)', 'stopped'] });
  });

  test('Ctrl-C in a terminal is one stop, though npm passes it on as well', async () => {
    const { child, ended, until } = await byNpm();
    await stopAsATerminalDoes(child, until);
    expect(await ended).toMatchObject({ said: ['stopping (SIGINT)', 'stopped'] });
  });
});

function finish(): void {
  writeFileSync(join(clone, 'finish'), '');
}

/** To all of them, and again while they are at it: somebody is impatient. */
async function stopAsATerminalDoes(child: ChildProcess, until: (line: RegExp) => Promise<unknown>): Promise<void> {
  const group = -(child.pid ?? Number.NaN);
  process.kill(group, 'SIGINT');
  await until(/^stopping/m);
  process.kill(group, 'SIGINT');
  finish();
}

/** Resolves once the program runs; `ended` once nobody writes any more, with what was said since. */
async function start(node: string, words: readonly string[]) {
  // Detached: a process group of its own, as a shell gives to what it runs.
  const child: ChildProcess = spawn(node, words, {
    cwd: clone,
    env: environmentWith(machineNode),
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child.pid ?? Number.NaN);
  const watched = watchProcess(words.join(' '), child);
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = new Promise<{ code: number | null; said: string[] }>((resolve) => {
    child.on('close', (code) => resolve({ code, said: output.split('\n').slice(1, -1) }));
  });
  const until = async (line: RegExp) => {
    await eventuallyFrom(watched, () => line.test(output), { every: 20, waitedFor: `output like ${line}` });
    return line.exec(output);
  };
  running.add(Number((await until(/^ready (\d+)\n/))?.[1]));
  return { child, ended, until };
}
