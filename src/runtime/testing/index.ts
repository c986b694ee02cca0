/**
 * Helpers for tests of programs that use the runtime (`kidp/runtime/testing`): a clock that the test controls, waiting for
 * a condition, and a single reconcile.
 *
 * Stability: beta. Everything that this file exports follows semantic versioning from 1.0.0 on. Until then a minor
 * release may change it, and the changelog lists each change.
 *
 * Input: a reconciler, a check or a duration. Output: its result. This module does not know any test framework.
 */
import type { Client } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { liveReader } from '../controller/reader.ts';
import type { Reconcile, Request, Result } from '../controller/reconcile.ts';
import { silentLogger } from '../telemetry/logger.ts';

interface FakeTimer {
  readonly due: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/**
 * A `FakeClock` stands still until `advance`. Both clocks move together; `stepWallClock` moves the wall clock alone.
 *
 * @example
 * import { FakeClock } from 'kidp/runtime/testing';
 *
 * const clock = new FakeClock();
 * clock.schedule(1_000, () => console.log('one second later'));
 * await clock.advance(1_000);
 */
export class FakeClock implements Clock {
  #monotonic = 0;
  #wall: number;
  #sequence = 0;
  #timers: FakeTimer[] = [];

  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#wall = now;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  schedule(milliseconds: number, callback: () => void): () => void {
    this.#sequence += 1;
    const timer = { due: this.#monotonic + Math.max(0, milliseconds), sequence: this.#sequence, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** The number of timers that are set. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves time forward, fires due timers in order, and lets promises settle after each. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#monotonic + milliseconds;
    await settle();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers = this.#timers.filter((other) => other !== timer);
      this.#moveTo(timer.due);
      timer.callback();
      await settle();
    }
    this.#moveTo(end);
  }

  /** Lets time pass without firing timers, like a process that was stopped and resumes. `advance(0)` then fires the late ones. */
  jump(milliseconds: number): void {
    this.#moveTo(this.#monotonic + milliseconds);
  }

  stepWallClock(milliseconds: number): void {
    this.#wall += milliseconds;
  }

  #next(end: number): FakeTimer | undefined {
    const due = this.#timers.filter((timer) => timer.due <= end);
    return due.sort((a, b) => a.due - b.due || a.sequence - b.sequence)[0];
  }

  #moveTo(monotonic: number): void {
    if (monotonic <= this.#monotonic) return;
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

/** `settle` lets every pending callback and promise run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export interface EventuallyOptions {
  /** The limit in milliseconds, after which the last failure is thrown. */
  within?: number;
  /** Milliseconds between checks. They grow up to four times as long while it waits, to save CPU. */
  every?: number;
}

const slowest = 1_000;

/** `eventually` calls the check until it neither throws nor returns false, and returns its result. */
export async function eventually<T>(
  check: () => T | false | Promise<T | false>,
  { within = 120_000, every = 50 }: EventuallyOptions = {},
): Promise<T> {
  const started = performance.now();
  for (;;) {
    let failure: unknown;
    try {
      const value = await check();
      if (value !== false) return value;
      failure = new Error(`not so after ${within} ms: ${check.toString().slice(0, 200)}`);
    } catch (error) {
      failure = error;
    }
    const waited = performance.now() - started;
    if (waited >= within) throw failure;
    const pause = Math.max(every, Math.min(waited / 10, 4 * every, slowest));
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** `reconcileOnce` calls a reconciler like a controller does, but with live reads, so that it sees what the test has just written. */
export async function reconcileOnce(
  reconcile: Reconcile,
  request: Request,
  { client, failures = 0 }: { client: Client; failures?: number },
): Promise<Result> {
  const abort = new AbortController();
  try {
    const context = { client, read: liveReader(client), log: silentLogger, signal: abort.signal, failures };
    return (await reconcile(request, context)) as Result;
  } finally {
    abort.abort(new Error('the reconcile has ended'));
  }
}
