/** For tests of what stands on the runtime: time that moves when told, waiting for what comes about, one reconcile by hand. */
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

/** Time that stands still until `advance`. Both clocks move together; `stepWallClock` sets the wall clock alone. */
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

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves time on, fires what falls due in order, and lets promises settle after each. */
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

  /** Time passes, and nothing fires: what a process sees that was stopped and goes on. Then `advance(0)` fires what is late. */
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

/** Lets everything that is ready to run, run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export interface EventuallyOptions {
  /** Milliseconds; after that the last failure is thrown. */
  within?: number;
  /** Milliseconds from one look to the next. The longer it takes the rarer they are, down to a fourth: what waits must not be busy. */
  every?: number;
}

const slowest = 1_000;

/** Calls the check until it neither throws nor returns false, and returns what it returned. */
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

/** One reconcile as a controller would call it, but reading live, so that it sees what the test has just written. */
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
