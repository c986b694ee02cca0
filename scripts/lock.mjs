// A lock file that allows one installation at a time. Like src/controlplane/lock.ts, but for any Node >= 18 and without dependencies.
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
import { startTimeOf } from './process-tree.mjs';

const heartbeatMilliseconds = 5_000;
// A holder on another host or in another container, or one whose file is incomplete, is alive while its heartbeat is recent.
const silentForMilliseconds = 60_000;
/** Makes the names of temporary files unique in this process. */
let attempts = 0;

/**
 * `acquireLock` waits for the lock and calls `onWait` with each holder that it waits for.
 * @param {string} file
 * @param {(holder: string) => void} [onWait]
 */
export async function acquireLock(file, onWait = () => undefined) {
  let reported;
  for (;;) {
    const { lock, heldBy } = tryLock(file);
    if (lock) return lock;
    const whom = nameOf(heldBy);
    if (whom !== reported) onWait(whom);
    reported = whom;
    await new Promise((wake) => setTimeout(wake, 200));
  }
}

/** `tryLock` returns `{ lock }`, or `{ heldBy }` if another process holds it. */
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

/** Returns false if the file already exists. */
function created(file, text) {
  try {
    writeFileSync(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    // The file was created before the disk was full.
    if (error.code === 'ENOSPC' || error.code === 'EDQUOT') rmSync(file, { force: true });
    throw error;
  }
}

function held(file) {
  const heartbeat = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      // The file was removed manually: there is nothing left to keep alive.
    }
  }, heartbeatMilliseconds);
  heartbeat.unref();
  return {
    /** Names the process that does the work: if this process is killed, the lock is held until that one exits. */
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

/** Returns undefined if there is no lock file. Its text identifies the holder even if it cannot be parsed. */
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

/**
 * Renames the lock file before removing it: if two processes see the same dead holder, one renames its file, and the other notices that it
 * renamed a live one.
 */
export function removeDead(file, dead) {
  const aside = nextTo(file);
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const moved = read(aside);
  // A holder that has not written its text yet is identified by the file time.
  const isAnother = moved !== undefined && (moved.text !== dead.text || moved.touched !== dead.touched);
  if (isAnother) created(file, moved.text);
  rmSync(aside, { force: true });
}

function nextTo(file) {
  attempts += 1;
  return `${file}.${process.pid}.${attempts}`;
}

/** The namespace in which a PID is unique: containers can share a disk but have their own PIDs. */
function place() {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}
