/**
 * Runs Helm to its end: in an environment of its own, so that nothing of whoever started us is read or written, with its time
 * bounded, and gone when we are gone. Nothing secret is on its command line: values and credentials are in files.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { FleetError } from '../contract.ts';
import { helmSlots } from './slots.ts';

interface HelmRun {
  /** Where it works, and keeps what it keeps; see `withWorkspace`. */
  readonly directory: string;
  readonly kubeconfig?: string | undefined;
  /** After that it is ended, and `helm/timeout` is thrown. The time that it waits for its turn does not count. */
  readonly timeoutMilliseconds: number;
  readonly signal?: AbortSignal | undefined;
  /** It takes something back: see `HelmSlots`. */
  readonly isRollback?: boolean | undefined;
}

export interface HelmOutcome {
  readonly code: number;
  /** What it was ended by, where it did not end by itself. */
  readonly signal?: NodeJS.Signals;
  readonly stdout: string;
  /** The end of it. */
  readonly stderr: string;
}

const mostOutput = 24 * 1024 * 1024;
const mostErrors = 64 * 1024;
/**
 * A template can take any amount of memory, and others live on this machine. From the lower bound on Helm cleans up after itself more
 * eagerly; at the upper one it ends. The largest output that is taken needs half of that.
 */
const eagerMebibytes = 256;
const mostMebibytes = 512;
const OUT_OF_MEMORY = /^fatal error: .*out of memory/m;
/** Helm writes down that it was interrupted; then it has had its time. */
const graceMilliseconds = 5_000;

/** Once it is its turn. Resolves whatever the exit code is; rejects where it did not come to its end by itself. */
export const runHelm = (
  { program }: { readonly program: string },
  words: readonly string[],
  run: HelmRun,
): Promise<HelmOutcome> => helmSlots.with(run, () => runNow(program, words, run));

async function runNow(program: string, words: readonly string[], run: HelmRun): Promise<HelmOutcome> {
  const child = start(program, words, run);
  goesFirst(child);
  let ended: 'timeout' | 'aborted' | 'too-large' | undefined;
  const end = (why: typeof ended) => {
    if (ended !== undefined) return;
    ended = why;
    child.kill('SIGTERM');
    killing = setTimeout(() => child.kill('SIGKILL'), graceMilliseconds);
  };
  let killing: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => end('timeout'), run.timeoutMilliseconds);
  const abort = () => end('aborted');
  run.signal?.addEventListener('abort', abort, { once: true });
  try {
    const outcome = await outcomeOf(child, () => end('too-large'));
    if (ended === 'timeout') {
      throw new FleetError(
        'helm/timeout',
        `Helm was not done within ${run.timeoutMilliseconds} ms (helm ${words[0]})`,
        {
          temporary: true,
        },
      );
    }
    if (outcome.code !== 0 && OUT_OF_MEMORY.test(outcome.stderr)) {
      throw new FleetError('helm/failed', `Helm wants more than ${mostMebibytes} MiB of memory (helm ${words[0]})`);
    }
    if (ended === undefined && outcome.signal === 'SIGKILL') {
      throw new FleetError('helm/failed', `Helm was killed, very likely for want of memory (helm ${words[0]})`, {
        temporary: true,
      });
    }
    if (ended === 'too-large') throw new FleetError('helm/failed', `Helm printed too much (helm ${words[0]})`);
    run.signal?.throwIfAborted();
    return outcome;
  } finally {
    clearTimeout(timer);
    clearTimeout(killing);
    run.signal?.removeEventListener('abort', abort);
  }
}

/**
 * Becomes Helm, after it has left somebody behind who ends Helm should our end of the pipe be closed without a word: that is how
 * Helm does not outlive a process that was killed. Where there is no shell we are alone in a container, and it goes with us. A limit that is
 * lower already stays.
 */
const thenHelm = `ulimit -d ${mostMebibytes * 1024} 2>/dev/null; ( read -r word <&3 || kill -9 $$ ) >/dev/null 2>&1 & exec 3<&-; exec "$@"`;
const shell = '/bin/sh';

function start(program: string, words: readonly string[], { directory, kubeconfig }: HelmRun): ChildProcess {
  const options = { cwd: directory, env: environment(directory, kubeconfig) };
  if (!existsSync(shell)) return spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const child = spawn(shell, ['-c', thenHelm, 'sh', program, ...words], {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const watched = child.stdio[3] as Writable;
  watched.on('error', () => undefined);
  child.on('exit', () => watched.end('ended\n'));
  return child;
}

/** Where memory runs out all the same, the kernel ends Helm and not us. Elsewhere than on Linux there is nothing to write to. */
function goesFirst({ pid }: ChildProcess): void {
  if (pid !== undefined) void writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined);
}

const environment = (directory: string, kubeconfig = '/dev/null'): NodeJS.ProcessEnv => ({
  HOME: directory,
  TMPDIR: directory,
  KUBECONFIG: kubeconfig,
  KUBECACHEDIR: join(directory, '.kube'),
  GOMEMLIMIT: `${eagerMebibytes}MiB`,
  ...Object.fromEntries(
    ['CACHE', 'CONFIG', 'DATA'].map((each) => [`HELM_${each}_HOME`, join(directory, '.helm', each.toLowerCase())]),
  ),
});

async function outcomeOf(child: ChildProcess, tooMuch: () => void): Promise<HelmOutcome> {
  const output: Buffer[] = [];
  let size = 0;
  let stderr = '';
  child.stdout?.on('data', (bytes: Buffer) => {
    size += bytes.length;
    if (size > mostOutput) tooMuch();
    else output.push(bytes);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-mostErrors);
  });
  const ended = await new Promise<Pick<HelmOutcome, 'code' | 'signal'>>((resolve, reject) => {
    child.on('error', (cause) =>
      reject(new FleetError('helm/missing', 'Helm cannot be started: say where it is', { cause })),
    );
    child.on('close', (code, signal) => resolve({ code: code ?? -1, ...(signal === null ? {} : { signal }) }));
  });
  return { ...ended, stdout: Buffer.concat(output).toString('utf8'), stderr };
}
