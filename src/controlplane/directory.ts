/**
 * The directory of a control plane or a Kafka: temporary and removed after the run, or kept and used by one run at a
 * time.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlPlaneError } from './errors.ts';
import { isAlive, type ProcessIdentity, signalGroup } from './identity.ts';
import { tryLock } from './lock.ts';
import { reaper } from './reaper.ts';

export interface ControlPlaneDirectory {
  readonly path: string;
  readonly throwaway: boolean;
  /** The folder in which each process keeps its identity while it runs. */
  readonly run: string;
  /** Removes a temporary directory, or releases a kept one for the next run. */
  release(): Promise<void>;
}

interface DirectoryOptions {
  /** The owner, which is part of the names of the directory and its lock. */
  owner: 'control-plane' | 'kafka' | 'real-cluster';
  /** The path of a kept directory; by default the directory is temporary. */
  kept?: string | undefined;
  /** Empties a kept directory, once it is certain that no process uses it. */
  reset?: boolean | undefined;
}

export function openDirectory({ owner, kept, reset = false }: DirectoryOptions): Promise<ControlPlaneDirectory> {
  return kept === undefined ? temporaryDirectory(owner) : keptDirectory(owner, resolve(kept), reset);
}

/** The reaper gets the name before the directory is created, so that a kill in between leaves nothing behind. */
async function temporaryDirectory(owner: DirectoryOptions['owner']): Promise<ControlPlaneDirectory> {
  const path = join(tmpdir(), `kidp-${owner}-${randomBytes(6).toString('hex')}`);
  await reaper().notify({ directory: path });
  await mkdir(join(path, 'run'), { recursive: true, mode: 0o700 });
  return {
    path,
    throwaway: true,
    run: join(path, 'run'),
    async release() {
      await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
      await reaper().notify({ kept: path });
    },
  };
}

async function keptDirectory(
  owner: DirectoryOptions['owner'],
  path: string,
  reset: boolean,
): Promise<ControlPlaneDirectory> {
  const lockName = `${owner}.lock`;
  const run = join(path, 'run');
  await mkdir(run, { recursive: true, mode: 0o700 });
  const outcome = tryLock(join(path, lockName));
  if ('heldBy' in outcome) {
    throw new ControlPlaneError({
      code: 'state/in-use',
      message: `the ${owner === 'kafka' ? 'Kafka' : 'control plane'} in ${path} is run by process ${outcome.heldBy.pid}`,
      hint: 'Stop that one first, or use another directory.',
    });
  }
  await endLeftovers(run);
  if (reset) await empty(path, ['run', lockName]);
  return { path, throwaway: false, run, release: async () => outcome.lock.release() };
}

async function empty(path: string, kept: readonly string[]): Promise<void> {
  for (const name of await readdir(path)) {
    if (!kept.includes(name)) await rm(join(path, name), { recursive: true, force: true });
  }
}

/**
 * After a kill, the reaper ends the processes of the run within moments. If the reaper was killed too, this function
 * does.
 */
async function endLeftovers(run: string): Promise<void> {
  for (const name of await readdir(run)) {
    const file = join(run, name);
    const identity = await readFile(file, 'utf8').then(
      (text) => JSON.parse(text) as ProcessIdentity,
      () => undefined,
    );
    for (let waited = 0; identity !== undefined && isAlive(identity); waited += 50) {
      if (waited >= 2_000) signalGroup(identity, 'SIGKILL');
      await sleep(50);
    }
    await rm(file, { force: true });
  }
}
