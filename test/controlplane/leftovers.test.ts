import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { identityOf, isAlive, type ProcessIdentity } from '../../src/controlplane/identity.ts';
import { startControlPlane } from '../support/cluster.ts';
import { lineFrom, startTestProcess } from '../support/test-process.ts';

interface Started {
  processes: number[];
  directory: string;
  reaper: number;
}

describe('what a runner leaves behind when it ends without stopping', () => {
  // A whole control plane where it is the hardest to notice; what is left to the watcher is the same in the end.
  const endings = [
    { reason: 'kill -9', ending: 'wait', what: 'control plane', signal: 'SIGKILL' },
    { reason: 'a termination that nobody handles', ending: 'wait', what: 'process', signal: 'SIGTERM' },
    { reason: 'Ctrl-C that nobody handles', ending: 'wait', what: 'process', signal: 'SIGINT' },
    { reason: 'a crash', ending: 'throw', what: 'process', signal: undefined },
    { reason: 'an exit that forgot to stop', ending: 'exit', what: 'process', signal: undefined },
  ] as const;

  it.concurrent.for(endings)('is nothing after $reason', async ({ ending, what, signal }, { expect }) => {
    const { child, started, ended } = await run(ending, what);
    const identities = started.processes.map(identity);
    if (signal !== undefined) {
      expect(identities.every(isAlive)).toBe(true);
      expect(existsSync(started.directory)).toBe(true);
      child.kill(signal);
    }
    await ended;
    await expect.poll(() => identities.filter(isAlive)).toEqual([]);
    await expect.poll(() => existsSync(started.directory)).toBe(false);
    await expect.poll(() => identityOf(started.reaper)).toBeUndefined();
  });

  it('is nothing even where the watcher was killed before', async () => {
    const { child, started, ended } = await run('wait', 'process');
    const identities = started.processes.map(identity);
    // One that ends in its first half second counts as one that cannot start, and is not tried forever.
    await sleep(1_500);
    process.kill(started.reaper, 'SIGKILL');
    await expect.poll(() => watchersOf(child.pid ?? 0).filter((pid) => pid !== started.reaper)).toHaveLength(1);
    child.kill('SIGKILL');
    await ended;
    await expect.poll(() => identities.filter(isAlive)).toEqual([]);
    await expect.poll(() => existsSync(started.directory)).toBe(false);
  });

  it('keeps a directory that was given, and the next run takes it over', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kidp-leftovers-'));
    try {
      const { child, started, ended } = await run('wait', 'control plane', directory);
      const identities = started.processes.map(identity);
      child.kill('SIGKILL');
      await ended;
      const plane = await startControlPlane({ directory });
      expect(identities.filter(isAlive)).toEqual([]);
      await plane.stop();
      expect(existsSync(join(directory, 'state.json'))).toBe(true);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});

async function run(...flags: string[]) {
  const program = fileURLToPath(new URL('./support/runner.ts', import.meta.url));
  const runner = startTestProcess('the runner', process.execPath, [program, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [line] = await lineFrom(runner, /^\{.*$/);
  return { child: runner.child, ended: runner.exited, started: JSON.parse(line) as Started };
}

/** A process that ended at once has no identity any more; it counts as one that is not alive. */
function identity(pid: number): ProcessIdentity {
  return identityOf(pid) ?? { pid, startTime: 'ended' };
}

/** The processes that run the reaper's program for the given runner. */
function watchersOf(child: number): number[] {
  const out = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return out
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter((parts) => Number(parts?.[2]) === child && parts?.[3]?.includes('reaper-main'))
    .map((parts) => Number(parts?.[1]));
}
