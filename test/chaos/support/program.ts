/**
 * A program of ours as its cluster runs it: a process of its own that is started again when it ends, until it is told to stay down.
 * What it says is kept, to be read by who looks for a reason.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { manageProcess } from '../../../src/controlplane/process.ts';

export interface Program {
  readonly name: string;
  readonly pid: number | undefined;
  /** How often it ended though nobody had killed it. */
  readonly ownEnds: number;
  start(): Promise<void>;
  /** SIGKILL, and it stays down until `start`. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Its log, a line for each; those that are no JSON as `{ text }`. */
  lines(): LogLine[];
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly message?: string; readonly timestamp?: string };

/** As a kubelet waits longer each time, only not as long. */
const restartMilliseconds = { first: 500, longest: 4_000 };

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
      // It may end at once where what it needs is away; then it is tried again.
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
