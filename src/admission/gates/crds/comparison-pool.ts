/**
 * A pool of worker threads that compare definitions.
 *
 * A definition may have a megabyte and ten thousand objects. Other requests, which take milliseconds, must not wait for
 * that, and a comparison that takes too long or too much memory is terminated without harm to the process. A thread is
 * started for the first changed definition, and one idle thread is kept for a while.
 */
import { getCompileCacheDir } from 'node:module';
import { dirname, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Compared, Page } from './comparison.ts';

/** A comparison in progress. The caller must release it. */
export interface Comparer {
  compare(before: string | undefined, after: string | undefined): Promise<Compared>;
  add(list: string): Promise<Page>;
  release(): void;
}

export interface Comparers {
  /** Takes a thread. Its promises reject when the signal is aborted, and the work of the thread is terminated. */
  take(signal: AbortSignal): Promise<Comparer>;
  stop(): Promise<void>;
}

/** A call to the thread. */
export interface Call {
  readonly call: 'begin' | 'compare' | 'add';
  readonly texts: readonly (string | undefined)[];
}
export type Answer = { readonly value: unknown } | { readonly failure: string };

/** The thread ended before it responded. */
export class ComparisonFailed extends Error {
  readonly code = 'crd-gate/comparison-failed';
}

const threadsByDefault = 2;
const idleMilliseconds = 5 * 60_000;
/**
 * The memory limit of a thread: several times what the largest public definition needs. Two threads and the rest fit
 * into the limit of manifests/install.
 */
const mostMegabytes = 192;

/** `startComparers` starts a pool with at most `mostThreads` threads. Further callers wait. */
export function startComparers(mostThreads: number = threadsByDefault): Comparers {
  const threads = new Set<Thread>();
  const idle: Thread[] = [];
  const waiting: (() => void)[] = [];
  let stopped = false;

  const freed = (thread: Thread) => {
    if (thread.ended || stopped || idle.length > 0) {
      threads.delete(thread);
      void thread.end();
    } else {
      idle.push(thread);
      thread.restFor(idleMilliseconds, () => {
        idle.splice(idle.indexOf(thread), 1);
        threads.delete(thread);
      });
    }
    waiting.shift()?.();
  };
  return {
    async take(signal) {
      while (idle.length === 0 && threads.size >= mostThreads) await turn(waiting, signal);
      signal.throwIfAborted();
      const rested = idle.pop();
      // An idle thread may have ended.
      if (rested?.ended) threads.delete(rested);
      const thread = rested === undefined || rested.ended ? new Thread() : rested;
      threads.add(thread);
      thread.wake();
      const onAbort = () => thread.interrupt();
      signal.addEventListener('abort', onAbort, { once: true });
      const ask = async (call: Call['call'], ...texts: (string | undefined)[]) => {
        signal.throwIfAborted();
        try {
          return await thread.ask({ call, texts });
        } catch (error) {
          throw signal.aborted ? signal.reason : error;
        }
      };
      await ask('begin').catch((error: unknown) => {
        signal.removeEventListener('abort', onAbort);
        freed(thread);
        throw error;
      });
      return {
        compare: (before, after) => ask('compare', before, after) as Promise<Compared>,
        add: (list) => ask('add', list) as Promise<Page>,
        release() {
          signal.removeEventListener('abort', onAbort);
          freed(thread);
        },
      };
    },
    async stop() {
      stopped = true;
      for (const wake of waiting.splice(0)) wake();
      await Promise.all([...threads].map((thread) => thread.end()));
      threads.clear();
    },
  };
}

function turn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      waiting.splice(waiting.indexOf(wake), 1);
      reject(signal.reason);
    };
    const wake = () => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    };
    signal.addEventListener('abort', giveUp, { once: true });
    waiting.push(wake);
  });
}

/** Node keeps a subdirectory per version in the compile cache directory. */
const directoryOf = (compileCache: string | undefined): string | undefined =>
  compileCache === undefined ? undefined : dirname(compileCache);

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A worker thread that handles one call at a time. */
class Thread {
  readonly #worker: Worker;
  #asked: Waiting | undefined;
  #resting: NodeJS.Timeout | undefined;
  #ended = false;

  constructor() {
    const extension = extname(fileURLToPath(import.meta.url));
    this.#worker = new Worker(new URL(`./comparison-worker${extension}`, import.meta.url), {
      workerData: { compileCache: directoryOf(getCompileCacheDir()) },
      resourceLimits: { maxOldGenerationSizeMb: mostMegabytes },
    });
    // The thread must not keep the process alive.
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => {
      const asked = this.#asked;
      this.#asked = undefined;
      if ('failure' in answer) asked?.reject(new ComparisonFailed(answer.failure));
      else asked?.resolve(answer.value);
    });
    this.#worker.on('error', (error) => this.#end(new ComparisonFailed(error.message, { cause: error })));
    this.#worker.on('exit', () => this.#end(new ComparisonFailed('the comparison was terminated')));
  }

  get ended(): boolean {
    return this.#ended;
  }

  ask(call: Call): Promise<unknown> {
    if (this.#ended) return Promise.reject(new ComparisonFailed('the comparison thread has ended'));
    return new Promise((resolve, reject) => {
      this.#asked = { resolve, reject };
      this.#worker.postMessage(call);
    });
  }

  restFor(milliseconds: number, ended: () => void): void {
    this.#resting = setTimeout(() => {
      ended();
      void this.end();
    }, milliseconds);
    this.#resting.unref();
  }

  wake(): void {
    clearTimeout(this.#resting);
  }

  /** Terminates the thread if it is working. An idle thread can be reused. */
  interrupt(): void {
    if (this.#asked !== undefined) void this.end();
  }

  async end(): Promise<void> {
    this.wake();
    await this.#worker.terminate();
    this.#end(new ComparisonFailed('the comparison was terminated'));
  }

  #end(error: ComparisonFailed): void {
    this.#ended = true;
    this.#asked?.reject(error);
    this.#asked = undefined;
  }
}
