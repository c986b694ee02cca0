/**
 * kidp processes that are supervised the way a kubelet supervises a container: a process is restarted when it exits, until the test
 * kills it. The output is kept for the diagnosis of a failed run.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { manageProcess } from '../../../src/controlplane/process.ts';
import { type EventuallyOptions, eventually } from '../../../src/runtime/testing/index.ts';

export interface Program {
  readonly name: string;
  readonly pid: number | undefined;
  /** How often it exited although the test had not killed it. */
  readonly ownEnds: number;
  start(): Promise<void>;
  /** Sends SIGKILL; the process stays down until `start`. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** The lines of its log, parsed; a line that is not JSON becomes `{ text }`. */
  lines(): LogLine[];
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly message?: string; readonly timestamp?: string };

/** The delay before a restart doubles each time, like that of a kubelet, but stays much shorter. */
const restartMilliseconds = { first: 500, longest: 4_000 };

/** So many exits while a program starts up count as a crash loop: nothing that it depends on is down at that time. */
const CRASH_LOOP_EXITS = 3;
const LAST_LINES = 20;

/**
 * `eventuallyStarted` is `eventually` for something that supervised programs must do while no faults are injected. It fails as soon as
 * one of them is in a crash loop, with the last lines of its log.
 */
export async function eventuallyStarted<T>(
  programs: readonly Program[],
  check: () => T | false,
  options?: EventuallyOptions,
): Promise<T> {
  let crashing: Program | undefined;
  const value = await eventually<T | undefined>(() => {
    crashing = programs.find(({ ownEnds }) => ownEnds >= CRASH_LOOP_EXITS);
    return crashing === undefined ? check() : undefined;
  }, options);
  if (crashing === undefined) return value as T;
  const last = crashing.lines().slice(-LAST_LINES).map(asText).join('\n');
  throw new Error(`${crashing.name} exited ${crashing.ownEnds} times during startup; its last output:\n${last}`);
}

const asText = (line: LogLine): string => (typeof line.text === 'string' ? line.text : JSON.stringify(line));

/** `superviseProgram` prepares a supervised process; `start` starts it. */
export function superviseProgram(name: string, folder: string, command: readonly string[]): Program {
  const logFile = join(folder, `${name}.log`);
  const [program = '', ...flags] = command;
  const handle = manageProcess({
    name,
    run: folder,
    logFile,
    command: () => ({ program, arguments: flags }),
    isReady: async () => true,
  });
  let wanted = false;
  let ownEnds = 0;
  let watching: Promise<void> | undefined;

  async function watch(): Promise<void> {
    let pause = restartMilliseconds.first;
    let upSince = Date.now();
    while (wanted) {
      await sleep(100);
      if (!wanted || handle.pid !== undefined) continue;
      ownEnds += 1;
      pause =
        Date.now() - upSince > 10_000 ? restartMilliseconds.first : Math.min(pause * 2, restartMilliseconds.longest);
      await sleep(pause);
      upSince = Date.now();
      // It can exit at once while a server that it depends on is down; the next round restarts it.
      if (wanted) await handle.start().catch(() => {});
    }
  }

  return {
    name,
    get pid() {
      return handle.pid;
    },
    get ownEnds() {
      return ownEnds;
    },
    async start() {
      if (wanted) return;
      await watching;
      wanted = true;
      await handle.start().catch(() => {});
      watching = watch();
    },
    async kill() {
      wanted = false;
      await handle.kill();
      await watching;
      await handle.kill();
    },
    pause: () => handle.pause(),
    resume: () => handle.resume(),
    lines() {
      if (statSync(logFile, { throwIfNoEntry: false }) === undefined) return [];
      return readFileSync(logFile, 'utf8').split('\n').slice(0, -1).map(parsed);
    },
  };
}

function parsed(line: string): LogLine {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as LogLine) : { text: line };
  } catch {
    return { text: line };
  }
}
