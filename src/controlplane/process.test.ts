import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityOf, isAlive, signalGroup } from './identity.ts';
import { manageProcess, portWasTaken } from './process.ts';

describe('a managed process', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'kidp-process-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  /** A Node program that says `ready` and then does what `code` says. */
  const managed = (code: string, readyWithinMilliseconds = 20_000) => {
    const logFile = join(directory, 'log');
    return manageProcess({
      name: 'victim',
      run: directory,
      logFile,
      readyWithinMilliseconds,
      command: () => ({ program: process.execPath, arguments: ['-e', code] }),
      isReady: async () => readFileSync(logFile, 'utf8').endsWith('ready\n'),
    });
  };
  const serving = "console.log('ready'); setInterval(() => {}, 1000);";
  const deaf = "process.on('SIGTERM', () => {}); console.log('ready'); setInterval(() => {}, 1000);";

  it('starts, leaves its identity while it runs, stops, and starts again', async () => {
    const victim = managed(serving);
    expect(victim.pid).toBeUndefined();
    await victim.start();
    const first = identityOf(victim.pid ?? 0);
    expect(JSON.parse(readFileSync(join(directory, 'victim'), 'utf8'))).toEqual(first);
    await victim.stop();
    expect(first && isAlive(first)).toBe(false);
    expect(readdirSync(directory)).toEqual(['log']);
    await victim.start();
    expect(victim.pid).not.toBe(first?.pid);
    await victim.kill();
    expect(victim.pid).toBeUndefined();
  });

  it('is killed where it does not heed a stop, also while paused', async () => {
    const victim = managed(deaf);
    await victim.start();
    victim.pause();
    await victim.stop({ graceMilliseconds: 200 });
    expect(victim.pid).toBeUndefined();
    // Stopping what has ended is nothing.
    await victim.stop();
    await victim.kill();
  });

  it('reports its last output if it exits before it is ready', async () => {
    const failure = managed("console.error('listen: address already in use'); process.exit(3)").start();
    await expect(failure).rejects.toMatchObject({ code: 'port/taken', message: expect.stringContaining('status 3') });
    expect(portWasTaken(await failure.catch((error: unknown) => error))).toBe(true);
    const other = await managed('process.exit(1)')
      .start()
      .catch((error: unknown) => error);
    // What an earlier start said is not held against this one.
    expect(other).toMatchObject({ code: 'process/failed' });
    expect(portWasTaken(new Error('address already in use'))).toBe(false);
  });

  it('is ended where it is not ready in time', async () => {
    const victim = managed("console.log('still starting'); setInterval(() => {}, 1000);", 300);
    await expect(victim.start()).rejects.toMatchObject({ code: 'process/not-ready' });
    expect(victim.pid).toBeUndefined();
  });

  it('says so where there is no such program', async () => {
    const victim = manageProcess({
      name: 'missing',
      run: directory,
      logFile: join(directory, 'log'),
      command: () => ({ program: join(directory, 'no-such-program'), arguments: [] }),
      isReady: async () => true,
    });
    await expect(victim.start()).rejects.toMatchObject({
      code: 'process/failed',
      hint: expect.stringContaining('KUBEBUILDER_ASSETS'),
    });
  });

  it('is not signalled under a number that another process has now', async () => {
    const victim = managed(serving);
    await victim.start();
    const { pid = 0 } = victim;
    expect(signalGroup({ pid, startTime: 'long ago' }, 'SIGKILL')).toBe(false);
    expect(victim.pid).toBe(pid);
    expect(signalGroup({ pid: 2 ** 22 + 1, startTime: '1' }, 'SIGKILL')).toBe(false);
    await victim.kill();
  });
});
