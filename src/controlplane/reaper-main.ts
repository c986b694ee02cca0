/**
 * The reaper process, which outlives its runner by moments. It gets the processes that are already running as an argument, and reads the
 * ones that the runner starts from standard input, one JSON message per line. When the pipe closes, because the runner stopped, crashed or
 * was killed, it kills the remaining processes and removes the temporary directories, links and cgroups.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeGroups } from './cgroups.ts';
import { identityOf, isAlive, type ProcessIdentity, signalGroup, signalProcess } from './identity.ts';
import type { ReaperMessage } from './reaper.ts';

const processes = new Map<number, ProcessIdentity>();
const directories = new Set<string>();
const links = new Set<string>();
const cgroups = new Set<string>();
const [, , token = '', known = '[]'] = process.argv;

for (const message of JSON.parse(known) as ReaperMessage[]) take(message);
for await (const line of createInterface({ input: process.stdin })) take(JSON.parse(line) as ReaperMessage);

// A process may have started another one just before it was killed, so this repeats until none is left.
for (let left = kill(); left.length > 0; left = kill()) {
  // They write to their directories until they are gone.
  for (let waited = 0; left.some(isAlive) && waited < 10_000; waited += 20) await sleep(20);
  if (left.some(isAlive)) break;
}
for (const link of links) spawnSync('ip', ['link', 'delete', link], { stdio: 'ignore' });
for (const cgroup of cgroups) await removeGroups(cgroup);
for (const directory of directories)
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });

function take(message: ReaperMessage): void {
  if ('started' in message) processes.set(message.started.pid, message.started);
  else if ('ended' in message) processes.delete(message.ended);
  else if ('directory' in message) directories.add(message.directory);
  else if ('kept' in message) directories.delete(message.kept);
  else if ('link' in message) links.add(message.link);
  else if ('unlinked' in message) links.delete(message.unlinked);
  else cgroups.add(message.cgroup);
}

/** Returns the processes that it killed. */
function kill(): ProcessIdentity[] {
  const reported = [...processes.values()].filter((identity) => signalGroup(identity, 'SIGKILL'));
  // These may have kept to the runner's own process group.
  const others = unreported().filter(
    (identity) => signalGroup(identity, 'SIGKILL') || signalProcess(identity, 'SIGKILL'),
  );
  return [...reported, ...others];
}

/** Processes that the runner started but did not report before it was killed, found by the token in their environment (Linux). */
function unreported(): ProcessIdentity[] {
  if (process.platform !== 'linux' || token === '') return [];
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && environmentOf(entry).includes(`KIDP_REAPER=${token}`))
    .map((entry) => identityOf(Number(entry)))
    .filter((identity) => identity !== undefined && identity.pid !== process.pid) as ProcessIdentity[];
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
