// One installation at a time, by a file that names who is at it. As src/controlplane/lock.ts, on any Node >= 18 and without a dependency.
import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { startTimeOf } from './lineage.mjs';

const heartbeatMilliseconds = 5_000;
// A holder that cannot be asked (another host or container, a file that was cut off) shows by its heartbeat that it lives.
const silentForMilliseconds = 60_000;
let attempts = 0;

/**
 * Waits for the lock; `onWait` is told of each holder that is waited for.
 * @param {string} file
 * @param {(holder: string) => void} [onWait]
 */
export async function acquireLock(file, onWait = () => undefined) {
  let told;
  for (;;) {
    const { lock, heldBy } = tryLock(file);
    if (lock) return lock;
    const whom = nameOf(heldBy);
    if (whom !== told) onWait(whom);
    told = whom;
    await new Promise((wake) => setTimeout(wake, 200));
  }
}

/** `{ lock }`, or `{ heldBy }` where somebody is at it. */
export function tryLock(file) {
  mkdirSync(dirname(file), { recursive: true });
  for (;;) {
    if (created(file, textOf([process.pid]))) return { lock: held(file) };
    const holder = read(file);
    if (holder === undefined) continue;
    if (lives(holder)) return { heldBy: holder };
    removeDead(file, holder);
  }
}

/** False where it is there already. */
function created(file, text) {
  try {
    writeFileSync(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    // It was made, and then the disk was full.
    if (error.code === 'ENOSPC' || error.code === 'EDQUOT') rmSync(file, { force: true });
    throw error;
  }
}

function held(file) {
  const heartbeat = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      // Gone: somebody has removed it by hand, and there is nothing left to keep alive.
    }
  }, heartbeatMilliseconds);
  heartbeat.unref();
  return {
    /** The process that does the work: where this one is killed, the work goes on and the lock is held until that ends. */
    share(pid) {
      const aside = nextTo(file);
      writeFileSync(aside, textOf([process.pid, pid]));
      renameSync(aside, file);
    },
    release() {
      clearInterval(heartbeat);
      rmSync(file, { force: true });
    },
  };
}

function textOf(pids) {
  return JSON.stringify({ place: place(), processes: pids.map((pid) => ({ pid, startTime: startTimeOf(pid) })) });
}

/** Undefined where there is none. Its text tells it from others; what it says may be nothing that can be read. */
function read(file) {
  try {
    const holder = { text: readFileSync(file, 'utf8'), touched: statSync(file).mtimeMs };
    try {
      return { ...holder, ...JSON.parse(holder.text) };
    } catch {
      return holder;
    }
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function lives({ place: itsPlace, processes, touched }) {
  const canBeAsked = itsPlace === place() && Array.isArray(processes) && processes.every(({ startTime }) => startTime);
  if (!canBeAsked) return Date.now() - touched < silentForMilliseconds;
  return processes.some(({ pid, startTime }) => startTimeOf(pid) === startTime);
}

function nameOf({ place: itsPlace, processes }) {
  if (!Array.isArray(processes)) return 'another process';
  return `process ${processes[0]?.pid}${itsPlace === place() ? '' : ' of another host or container'}`;
}

/** Moved aside before it is removed: of two that see the same dead holder one moves it, and the other sees that it moved a live one. */
export function removeDead(file, dead) {
  const aside = nextTo(file);
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const moved = read(aside);
  // One that has not written its name yet is told by its time.
  const isAnother = moved !== undefined && (moved.text !== dead.text || moved.touched !== dead.touched);
  if (isAnother) created(file, moved.text);
  rmSync(aside, { force: true });
}

function nextTo(file) {
  attempts += 1;
  return `${file}.${process.pid}.${attempts}`;
}

/** Where a process number means the same process: containers share a disk, and have numbers of their own. */
function place() {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}
