/** The runner's side of the reaper: one watcher process per runner, notified of every process and temporary directory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ProcessIdentity } from './identity.ts';

export type ReaperMessage =
  | { started: ProcessIdentity }
  | { ended: number }
  | { directory: string }
  | { kept: string }
  // What a cluster with real nodes leaves on the machine: a network link, and a cgroup.
  | { link: string }
  | { unlinked: string }
  | { cgroup: string };

interface Reaper {
  /** The watcher's own process id. */
  readonly pid: number | undefined;
  /** The environment of each process that this runner starts, which marks it as such. */
  readonly environment: Readonly<Record<string, string>>;
  /** Resolves once the message can no longer be lost with the runner. */
  notify(message: ReaperMessage): Promise<void>;
}

/** One watcher per process: it must survive every module that uses it, and exists at most once. */
let running: Reaper | undefined;

export function reaper(): Reaper {
  running ??= startReaper();
  return running;
}

function startReaper(): Reaper {
  const token = randomUUID();
  const processes = new Map<number, ProcessIdentity>();
  const directories = new Set<string>();
  const links = new Set<string>();
  const cgroups = new Set<string>();
  let watcher = spawnWatcher();

  function spawnWatcher(): ChildProcess & { stdin: Writable } {
    // Passed as an argument, because this runner can be killed before it writes a line.
    const known: ReaperMessage[] = [
      ...[...processes.values()].map((started) => ({ started })),
      ...[...directories].map((directory) => ({ directory })),
      ...[...links].map((link) => ({ link })),
      ...[...cgroups].map((cgroup) => ({ cgroup })),
    ];
    const child = spawnProgram(token, known);
    const born = Date.now();
    // If the watcher is killed, a new one takes over. A watcher that cannot start is not retried forever.
    child.once('exit', () => {
      if (Date.now() - born >= 500) watcher = spawnWatcher();
    });
    return child;
  }

  return {
    get pid() {
      return watcher.pid;
    },
    environment: { KIDP_REAPER: token },
    notify(message) {
      if ('started' in message) processes.set(message.started.pid, message.started);
      else if ('ended' in message) processes.delete(message.ended);
      else if ('directory' in message) directories.add(message.directory);
      else if ('kept' in message) directories.delete(message.kept);
      else if ('link' in message) links.add(message.link);
      else if ('unlinked' in message) links.delete(message.unlinked);
      else cgroups.add(message.cgroup);
      return write(watcher.stdin, message);
    },
  };
}

function spawnProgram(token: string, known: readonly ReaperMessage[]): ChildProcess & { stdin: Writable } {
  const extension = extname(fileURLToPath(import.meta.url));
  const program = fileURLToPath(new URL(`./reaper-main${extension}`, import.meta.url));
  // Detached: a Ctrl-C in the runner's terminal, or a kill of its process group, must not reach the one that cleans up.
  const child = spawn(process.execPath, [program, token, JSON.stringify(known)], {
    detached: true,
    cwd: '/',
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  // A Socket at run time, which the types do not say; it must not keep the runner alive.
  (child.stdin as unknown as { unref(): void }).unref();
  child.stdin.on('error', () => undefined);
  // Without a watcher the runner still works; only the cleanup after a crash is missing.
  child.on('error', () => undefined);
  return child;
}

/** A failed write is no failure: if the watcher has just died, its successor gets everything. */
function write(stdin: Writable, message: ReaperMessage): Promise<void> {
  return new Promise((resolve) => {
    stdin.write(`${JSON.stringify(message)}\n`, () => resolve());
  });
}
