/**
 * Child processes of tests and benchmarks. A wait for something that such a process must do takes the process along, and fails as soon as
 * the process exits, with its exit code and the last lines of its output. Without that, the wait runs into its timeout and hides the cause.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { type EventuallyOptions, eventually } from '../../src/runtime/testing/index.ts';

/** The exit code of a process, or the signal that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process that a wait can depend on. */
export interface TestProcess {
  readonly name: string;
  readonly child: ChildProcess;
  /** Resolves once the process has exited and its output has been read. A process that cannot be started counts as exited. */
  readonly exited: Promise<ProcessExit>;
  /** Whether `exited` has resolved. */
  readonly hasExited: boolean;
  /** Whether the test has sent it a signal with `kill`: then its exit is expected. */
  readonly wasSignalled: boolean;
  /** The end of what the process has written to its pipes: standard output and standard error, interleaved. */
  output(): string;
  /** Sends a signal, SIGKILL by default, and waits until the process has exited. */
  kill(signal?: NodeJS.Signals): Promise<ProcessExit>;
}

/** The length of the output that is kept, in characters. */
const KEPT_OUTPUT = 1_048_576;
const LAST_LINES = 20;

/** `startTestProcess` runs a program; by default its standard error is shown as well as kept. */
export function startTestProcess(
  name: string,
  program: string,
  flags: readonly string[],
  options: SpawnOptions = {},
): TestProcess {
  const child = spawn(program, flags, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  if (options.stdio === undefined) child.stderr?.on('data', (chunk: Buffer) => process.stderr.write(chunk));
  return watchProcess(name, child);
}

/** `watchProcess` follows a child process that has just been spawned. Call it before the event loop turns. */
export function watchProcess(name: string, child: ChildProcess): TestProcess {
  let output = '';
  let hasExited = false;
  let wasSignalled = false;
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer | string) => {
      output = `${output}${chunk}`.slice(-KEPT_OUTPUT);
    });
  const exited = new Promise<ProcessExit>((resolve) => {
    const end = (exit: ProcessExit) => {
      hasExited = true;
      resolve(exit);
    };
    child.once('error', (error) => {
      output += `${error.message}\n`;
      if (child.pid === undefined) end({ code: null, signal: null });
    });
    child.once('exit', (code, signal) => {
      // A grandchild can hold the pipes open for long: the last lines get a moment to arrive, and no more.
      const late = setTimeout(() => end({ code, signal }), 1_000);
      child.once('close', () => {
        clearTimeout(late);
        end({ code, signal });
      });
    });
  });
  return {
    name,
    child,
    exited,
    get hasExited() {
      return hasExited;
    },
    get wasSignalled() {
      return wasSignalled;
    },
    output: () => output,
    kill(signal = 'SIGKILL') {
      wasSignalled = true;
      child.kill(signal);
      return exited;
    },
  };
}

/** `exitError` says how a process exited, with the last lines of its output. */
export function exitError({ name, output }: TestProcess, { code, signal }: ProcessExit, waitedFor?: string): Error {
  const how =
    signal !== null ? `was killed by ${signal}` : code === null ? 'could not be started' : `exited with code ${code}`;
  const purpose = waitedFor === undefined ? '' : ` while the test waited for ${waitedFor}`;
  const lines = output().trimEnd().split('\n').slice(-LAST_LINES).join('\n');
  return new Error(`${name} ${how}${purpose}; its last output:\n${lines === '' ? '(none)' : lines}`);
}

/** `whileRunning` returns the result of a wait, or rejects at once if the process exits first. */
export async function whileRunning<T>(process: TestProcess, wait: Promise<T>, waitedFor?: string): Promise<T> {
  const failed = process.exited.then((exit): never => {
    throw exitError(process, exit, waitedFor);
  });
  // The loser of the race can fail later, when nobody listens any more.
  failed.catch(() => undefined);
  wait.catch(() => undefined);
  return Promise.race([wait, failed]);
}

/**
 * `eventuallyFrom` is `eventually` for something that a process must do. If the process exits first, the check gets one last chance, and
 * then the wait fails at once.
 */
export function eventuallyFrom<T>(
  process: TestProcess,
  check: () => T | false | Promise<T | false>,
  { waitedFor, ...options }: EventuallyOptions & { readonly waitedFor?: string } = {},
): Promise<T> {
  const afterExit = process.exited.then(async (exit) => {
    const value = await (async () => check())().catch(() => false as const);
    if (value === false) throw exitError(process, exit, waitedFor);
    return value;
  });
  // After the exit only the last check counts.
  const poll = eventually(() => (process.hasExited ? endlessly() : check()), options);
  for (const each of [afterExit, poll]) each.catch(() => undefined);
  return Promise.race([poll, afterExit]);
}

/** `lineFrom` resolves with the match of the first line in the output of a process that matches. */
export function lineFrom(
  process: TestProcess,
  pattern: RegExp,
  options: EventuallyOptions = {},
): Promise<RegExpExecArray> {
  const complete = () => process.output().slice(0, process.output().lastIndexOf('\n') + 1);
  const found = () =>
    complete()
      .split('\n')
      .map((line) => pattern.exec(line))
      .find((match) => match !== null) ?? false;
  return eventuallyFrom(process, found, { every: 20, ...options, waitedFor: `a line like ${pattern}` });
}

/** The processes of a test that kills and restarts some of them. A wait fails at once if one of them exits unless the test has killed it. */
export class ProcessGroup {
  readonly #failure = Promise.withResolvers<never>();
  #hasFailed = false;

  constructor() {
    // A failure while nothing waits is reported by the next wait.
    this.#failure.promise.catch(() => undefined);
  }

  add(process: TestProcess): TestProcess {
    void process.exited.then((exit) => {
      if (process.wasSignalled) return;
      this.#hasFailed = true;
      this.#failure.reject(exitError(process, exit));
    });
    return process;
  }

  /** `whileRunning` returns the result of a wait, or rejects at once if a process exits that the test has not killed. */
  whileRunning<T>(wait: Promise<T>): Promise<T> {
    return Promise.race([this.#failure.promise, wait]);
  }

  /** `eventually` polls like the function of that name, and rejects at once if a process exits that the test has not killed. */
  eventually<T>(check: () => T | false | Promise<T | false>, options: EventuallyOptions = {}): Promise<T> {
    return this.whileRunning(eventually(() => (this.#hasFailed ? endlessly() : check()), options));
  }
}

/** A promise that stays pending ends the polling of a wait that has already failed. */
const endlessly = (): Promise<never> => new Promise(() => undefined);
