/**
 * A lock for one process at a time: a file that names its holder. The lock of a dead holder (identified by process id
 * and start time) is taken over, so that a kill never blocks the next run.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf, isAlive, type ProcessIdentity } from './identity.ts';

export interface LockHolder extends ProcessIdentity {
  host: string;
}

interface Lock {
  release(): void;
}

const heartbeatMilliseconds = 5_000;
// A holder on another host (a cache on a shared disk, another container) cannot be checked: its heartbeat shows that it
// is alive.
const silentForMilliseconds = 60_000;
let attempts = 0;

/** Waits for the lock and calls `onWait` with each holder that it waits for. */
export async function acquireLock(file: string, onWait: (holder: LockHolder) => void = () => undefined): Promise<Lock> {
  let waitingFor: number | undefined;
  for (;;) {
    const outcome = tryLock(file);
    if ('lock' in outcome) return outcome.lock;
    if (outcome.heldBy.pid !== waitingFor) onWait(outcome.heldBy);
    waitingFor = outcome.heldBy.pid;
    await sleep(200);
  }
}

/** Returns the lock, or its holder. */
export function tryLock(file: string): { lock: Lock } | { heldBy: LockHolder } {
  mkdirSync(dirname(file), { recursive: true });
  const self: LockHolder = { ...(identityOf(process.pid) ?? { pid: process.pid, startTime: '' }), host: hostname() };
  const mine = `${file}.${process.pid}.${attempts++}`;
  writeFileSync(mine, JSON.stringify(self));
  try {
    for (;;) {
      if (linked(mine, file)) return { lock: held(file) };
      const holder = holderOf(file);
      if (holder === undefined) continue;
      if (lives(file, holder)) return { heldBy: holder };
      removeDead(file, holder, `${mine}.dead`);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A hard link is created atomically: the file never exists without its content. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function held(file: string): Lock {
  const heartbeat = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      // The file is gone because the cache was removed while in use; there is no heartbeat to write.
    }
  }, heartbeatMilliseconds);
  heartbeat.unref();
  return {
    release() {
      clearInterval(heartbeat);
      rmSync(file, { force: true });
    },
  };
}

function holderOf(file: string): LockHolder | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as LockHolder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    return { pid: 0, startTime: 'unreadable', host: hostname() };
  }
}

function lives(file: string, holder: LockHolder): boolean {
  if (holder.host === hostname()) return holder.pid > 0 && isAlive(holder);
  try {
    return Date.now() - statSync(file).mtimeMs < silentForMilliseconds;
  } catch {
    return false;
  }
}

/**
 * The file is renamed before it is removed: of two processes that see the same dead holder only one can rename it, and
 * it can then check whether it renamed a live one.
 */
function removeDead(file: string, dead: LockHolder, aside: string): void {
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const moved = holderOf(aside);
  if (moved?.pid !== dead.pid || moved.startTime !== dead.startTime) linked(aside, file);
  rmSync(aside, { force: true });
}
