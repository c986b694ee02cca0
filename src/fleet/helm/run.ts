/**
 * Runs Helm to completion: in an isolated environment, with a timeout, and killed when this process dies. Nothing
 * secret is on its command line: values and credentials are in files.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { FleetError } from '../contract.ts';
import { helmSlots } from './slots.ts';

interface HelmRun {
  /** The working directory, also for the caches of Helm; see `withWorkspace`. */
  readonly directory: string;
  readonly kubeconfig?: string | undefined;
  /** The timeout, after which it is killed and `helm/timeout` is thrown. Waiting for a slot does not count. */
  readonly timeoutMilliseconds: number;
  readonly signal?: AbortSignal | undefined;
  /** A rollback; see `HelmSlots`. */
  readonly isRollback?: boolean | undefined;
}

export interface HelmOutcome {
  readonly code: number;
  /** The signal that ended it, if any. */
  readonly signal?: NodeJS.Signals;
  readonly stdout: string;
  /** The last part of standard error. */
  readonly stderr: string;
}

const mostOutput = 24 * 1024 * 1024;
const mostErrors = 64 * 1024;
/**
 * A template can allocate any amount of memory. From the lower limit on, Helm collects garbage more eagerly; at the
 * upper limit it is killed. The largest accepted output needs half of that.
 */
const eagerMebibytes = 256;
const mostMebibytes = 512;
const OUT_OF_MEMORY = /^fatal error: .*out of memory/m;
/** Helm records that it was interrupted; then it has had its time. */
const graceMilliseconds = 5_000;

/** `runHelm` waits for a slot. It resolves for any exit code, and rejects if Helm did not exit normally. */
export const runHelm = (
  { program }: { readonly program: string },
  words: readonly string[],
  run: HelmRun,
): Promise<HelmOutcome> => helmSlots.with(run, () => runNow(program, words, run));

async function runNow(program: string, words: readonly string[], run: HelmRun): Promise<HelmOutcome> {
  const child = start(program, words, run);
  preferForOomKill(child);
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
      throw new FleetError('helm/timeout', `Helm timed out after ${run.timeoutMilliseconds} ms (helm ${words[0]})`, {
        temporary: true,
      });
    }
    if (outcome.code !== 0 && OUT_OF_MEMORY.test(outcome.stderr)) {
      throw new FleetError('helm/failed', `Helm exceeded ${mostMebibytes} MiB of memory (helm ${words[0]})`);
    }
    if (ended === undefined && outcome.signal === 'SIGKILL') {
      throw new FleetError('helm/failed', `Helm was killed, very likely out of memory (helm ${words[0]})`, {
        temporary: true,
      });
    }
    if (ended === 'too-large') throw new FleetError('helm/failed', `Helm produced too much output (helm ${words[0]})`);
    run.signal?.throwIfAborted();
    return outcome;
  } finally {
    clearTimeout(timer);
    clearTimeout(killing);
    run.signal?.removeEventListener('abort', abort);
  }
}

/**
 * Starts a watchdog and then executes Helm. The watchdog kills Helm when our end of the pipe is closed, so that Helm
 * does not outlive a killed process. Without a shell we are alone in a container, and Helm ends with it. A lower
 * existing limit is kept.
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

/** If memory runs out anyway, the kernel kills Helm instead of us. Only Linux has this file. */
function preferForOomKill({ pid }: ChildProcess): void {
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
      reject(new FleetError('helm/missing', 'Helm could not be started: check the path of the binary', { cause })),
    );
    child.on('close', (code, signal) => resolve({ code: code ?? -1, ...(signal === null ? {} : { signal }) }));
  });
  return { ...ended, stdout: Buffer.concat(output).toString('utf8'), stderr };
}
