/** One server of the control plane as a process: start, stop, kill, pause and resume. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlPlaneError } from './errors.ts';
import { identityOf, type ProcessIdentity } from './identity.ts';
import { reaper } from './reaper.ts';

export interface ProcessHandle {
  readonly name: string;
  /** The process id while it runs. */
  readonly pid: number | undefined;
  /** The file with standard output and error of all its starts. */
  readonly logFile: string;
  /** Starts it (again) with the same command line, ports and files, and waits until it is ready. */
  start(): Promise<void>;
  /** Sends SIGTERM, and SIGKILL if it does not exit within `graceMilliseconds` (10 s). */
  stop(options?: { graceMilliseconds?: number }): Promise<void>;
  /** Sends SIGKILL, like a crash. */
  kill(): Promise<void>;
  /** Sends SIGSTOP: it keeps its port and connections but does nothing. */
  pause(): void;
  resume(): void;
}

interface ProcessOptions {
  name: string;
  /** Called at each start, so that flags can change between starts. */
  command: () => {
    program: string;
    arguments: readonly string[];
    environment?: Readonly<Record<string, string>>;
    /** The working directory; the default is the one of this process. */
    directory?: string;
  };
  logFile: string;
  /** Returns true once the process serves; polled until then. */
  isReady: () => Promise<boolean>;
  readyWithinMilliseconds?: number;
  /** The folder for the process identity while it runs. */
  run: string;
}

export function manageProcess(options: ProcessOptions): ProcessHandle {
  let child: ChildProcess | undefined;
  let exited: Promise<void> = Promise.resolve();
  /** The offset in the log at which the output of this start begins. */
  let firstByte = 0;

  async function start(): Promise<void> {
    if (child !== undefined) return;
    const watcher = reaper();
    const { program, arguments: flags, environment, directory } = options.command();
    const log = openSync(options.logFile, 'a');
    firstByte = fstatSync(log).size;
    const started = spawn(program, flags, {
      // The process has its own process group: Ctrl-C in the terminal reaches only the runner, which stops all
      // processes in order.
      detached: true,
      cwd: directory,
      stdio: ['ignore', log, log],
      env: { ...inherited(), ...environment, ...watcher.environment },
    });
    closeSync(log);
    child = started;
    exited = new Promise((resolve) => {
      const end = () => {
        if (child === started) child = undefined;
        resolve();
      };
      started.once('exit', end);
      started.once('error', end);
    });
    const failure = new Promise<never>((_, reject) => {
      started.once('error', (cause) => reject(notStarted(options, program, cause)));
    });
    failure.catch(() => undefined);
    if (started.pid === undefined) return failure;
    const identity: ProcessIdentity = identityOf(started.pid) ?? { pid: started.pid, startTime: '' };
    await watcher.notify({ started: identity });
    const record = join(options.run, options.name);
    await writeFile(record, JSON.stringify(identity));
    exited = exited.then(async () => {
      await rm(record, { force: true });
      await watcher.notify({ ended: identity.pid });
    });
    await untilReady(started);
  }

  async function untilReady(started: ChildProcess): Promise<void> {
    const deadline = Date.now() + (options.readyWithinMilliseconds ?? 120_000);
    for (let pause = 20; ; pause = Math.min(pause * 1.5, 250)) {
      const ready = await options.isReady().catch(() => false);
      if (child !== started) throw endedEarly(options, started, allWords());
      if (ready) return;
      if (Date.now() > deadline) {
        await kill();
        throw notReady(options, lastOf(allWords()));
      }
      await Promise.race([sleep(pause, undefined, { ref: true }), exited]);
    }
  }

  /** Returns the output since the latest start. */
  function allWords(): string {
    return readFileSync(options.logFile).subarray(firstByte).toString('utf8').trimEnd();
  }

  function signal(name: NodeJS.Signals): void {
    if (child?.pid === undefined) return;
    try {
      process.kill(-child.pid, name);
    } catch (error) {
      // The process has just exited, and Node has not reported it yet.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  async function kill(): Promise<void> {
    signal('SIGKILL');
    await exited;
  }

  return {
    name: options.name,
    logFile: options.logFile,
    get pid() {
      return child?.pid;
    },
    start,
    kill,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async stop({ graceMilliseconds = 10_000 } = {}) {
      signal('SIGTERM');
      // A paused process would not handle SIGTERM.
      signal('SIGCONT');
      const timer = new AbortController();
      const late = sleep(graceMilliseconds, 'late', { signal: timer.signal }).catch(() => 'ended');
      const outcome = await Promise.race([exited.then(() => 'ended'), late]);
      timer.abort();
      if (outcome === 'late') await kill();
    },
  };
}

/**
 * Drops variables that would change a server: etcd reads flags from ETCD_* variables, and proxies must not apply to
 * loopback.
 */
function inherited(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'GOGC'];
  const kept = names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  // GOGC=200 halves the garbage collections: 14% less CPU for a busy API server, for 120 MB of memory.
  return { GOGC: '200', ...Object.fromEntries(kept) };
}

const lastOf = (words: string): string => words.split('\n').slice(-8).join('\n');

function endedEarly(options: ProcessOptions, child: ChildProcess, words: string): ControlPlaneError {
  const how = child.signalCode === null ? `status ${child.exitCode}` : `signal ${child.signalCode}`;
  // A stack trace can follow that sentence.
  const taken = /address already in use/i.test(words);
  return new ControlPlaneError({
    code: taken ? 'port/taken' : 'process/failed',
    message: `${options.name} exited with ${how} before it was ready; its last output: ${lastOf(words)}`,
    hint: taken
      ? 'Stop the process that listens on its port, then start it again.'
      : `The whole log is in ${options.logFile}`,
  });
}

function notReady(options: ProcessOptions, words: string): ControlPlaneError {
  return new ControlPlaneError({
    code: 'process/not-ready',
    message: `${options.name} was not ready in time and has been stopped; its last output: ${words}`,
    hint: `The whole log is in ${options.logFile}`,
  });
}

function notStarted(options: ProcessOptions, program: string, cause: Error): ControlPlaneError {
  return new ControlPlaneError({
    code: 'process/failed',
    message: `${options.name} could not be started from ${program}: ${cause.message}`,
    hint: 'Remove the file so that it is rebuilt, or set KUBEBUILDER_ASSETS to a directory that holds it.',
    cause,
  });
}

/** Whether a start failed only because another process took the port between choosing and binding it. */
export function portWasTaken(error: unknown): boolean {
  return error instanceof ControlPlaneError && error.code === 'port/taken';
}
