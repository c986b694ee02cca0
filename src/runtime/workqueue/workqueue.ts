/**
 * A queue of keys for level-triggered work. A key is queued once however often it is added. A key that is added while a worker has
 * it is handed out once more afterwards, never to two workers at a time. Groups (for example namespaces) take turns, and within a
 * group the order is first in, first out, so neither a hot key nor a hot group starves the others.
 */

import { type Clock, systemClock } from '../clock.ts';
import { type BackoffOptions, type BucketOptions, KeyBackoff, TokenBucket } from './backoff.ts';
import { DelayHeap } from './delay-heap.ts';

export interface WorkqueueMetrics {
  depth(keys: number): void;
  added(): void;
  retried(): void;
  /** The time from `add` to `get`. */
  waited(seconds: number): void;
  /** The time from `get` to `done`. */
  worked(seconds: number): void;
}

export interface WorkqueueOptions {
  clock?: Clock;
  /** The backoff of a key in `addRateLimited`. */
  backoff?: BackoffOptions;
  /** The rate limit over all keys in `addRateLimited`. */
  bucket?: BucketOptions;
  /** The group of a key; groups take turns. Default: one group. */
  groupOf?: (key: string) => string;
  metrics?: WorkqueueMetrics;
}

/**
 * A `Workqueue` hands out keys to workers, each key to one worker at a time.
 *
 * @example
 * import { Workqueue } from 'kidp/runtime';
 *
 * const queue = new Workqueue();
 * queue.add('default/web');
 * for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
 *   try {
 *     console.log('working on', key);
 *     queue.forget(key);
 *   } catch {
 *     queue.addRateLimited(key);
 *   } finally {
 *     queue.done(key);
 *   }
 *   await queue.shutdown();
 * }
 */
export class Workqueue {
  readonly #clock: Clock;
  readonly #backoff: KeyBackoff;
  readonly #bucket: TokenBucket;
  readonly #metrics: WorkqueueMetrics | undefined;

  /** Keys that were added and not handed out yet, with the time of the add. A key in progress can be here too. */
  readonly #dirty = new Map<string, number>();
  readonly #processing = new Map<string, number>();
  readonly #ready: Turns;
  readonly #delayed = new DelayHeap();
  #cancelTimer: (() => void) | undefined;

  readonly #takers: ((key: string | undefined) => void)[] = [];
  #stopped = false;
  #onDrained: (() => void)[] = [];

  constructor(options: WorkqueueOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#backoff = new KeyBackoff(options.backoff);
    this.#bucket = new TokenBucket(options.bucket ?? { tokensPerSecond: 10, burst: 100 }, () =>
      this.#clock.monotonic(),
    );
    this.#ready = new Turns(options.groupOf ?? (() => ''));
    this.#metrics = options.metrics;
  }

  /** The number of keys that can be handed out now. */
  get depth(): number {
    return this.#ready.size;
  }

  add(key: string): void {
    if (this.#stopped || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.monotonic());
    this.#metrics?.added();
    if (!this.#processing.has(key)) this.#offer(key);
  }

  /** Adds the key after a delay. Of several delays of one key the earliest counts. */
  addAfter(key: string, milliseconds: number): void {
    if (this.#stopped) return;
    if (milliseconds <= 0) {
      this.add(key);
      return;
    }
    this.#delayed.push(key, this.#clock.monotonic() + milliseconds);
    this.#arm();
  }

  /** Adds the key after its backoff, limited by the rate over all keys, and not before the given time. */
  addRateLimited(key: string, atLeastMilliseconds = 0): void {
    if (this.#stopped) return;
    this.#metrics?.retried();
    this.addAfter(key, Math.max(this.#backoff.next(key), this.#bucket.reserve(), atLeastMilliseconds));
  }

  /** Resets the backoff of the key. */
  forget(key: string): void {
    this.#backoff.forget(key);
  }

  /** Returns how often the key was added with backoff since it was last forgotten. */
  failures(key: string): number {
    return this.#backoff.failures(key);
  }

  /**
   * Resolves with the next key, or with `undefined` once the queue is shut down. Call `done` with the key afterwards.
   */
  get(): Promise<string | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    const key = this.#ready.take();
    if (key === undefined) return new Promise((resolve) => this.#takers.push(resolve));
    this.#handOut(key);
    return Promise.resolve(key);
  }

  done(key: string): void {
    const started = this.#processing.get(key);
    if (started === undefined) return;
    this.#processing.delete(key);
    this.#metrics?.worked((this.#clock.monotonic() - started) / 1000);
    if (this.#dirty.has(key) && !this.#stopped) this.#offer(key);
    if (this.#stopped && this.#processing.size === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
  }

  /**
   * Accepts and hands out no more keys; resolves once all keys in progress are done. Waiting keys are dropped, because
   * the next process reads the current state.
   */
  shutdown(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#ready.clear();
    this.#delayed.clear();
    this.#dirty.clear();
    this.#metrics?.depth(0);
    for (const resolve of this.#takers.splice(0)) resolve(undefined);
    if (this.#processing.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  /** Returns the seconds that the keys in progress have taken so far: their sum and the longest. */
  running(): { unfinishedSeconds: number; longestSeconds: number } {
    const now = this.#clock.monotonic();
    let unfinishedSeconds = 0;
    let longestSeconds = 0;
    for (const started of this.#processing.values()) {
      const seconds = (now - started) / 1000;
      unfinishedSeconds += seconds;
      longestSeconds = Math.max(longestSeconds, seconds);
    }
    return { unfinishedSeconds, longestSeconds };
  }

  #offer(key: string): void {
    const taker = this.#takers.shift();
    if (taker === undefined) {
      this.#ready.put(key);
      this.#metrics?.depth(this.#ready.size);
      return;
    }
    this.#handOut(key);
    taker(key);
  }

  #handOut(key: string): void {
    const now = this.#clock.monotonic();
    this.#metrics?.waited((now - (this.#dirty.get(key) ?? now)) / 1000);
    this.#metrics?.depth(this.#ready.size);
    this.#dirty.delete(key);
    this.#processing.set(key, now);
  }

  /** Sets one timer, for the earliest of the delayed keys. */
  #arm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const due = this.#delayed.nextDue();
    if (due === undefined) return;
    this.#cancelTimer = this.#clock.schedule(due - this.#clock.monotonic(), () => {
      const now = this.#clock.monotonic();
      for (let key = this.#delayed.popDue(now); key !== undefined; key = this.#delayed.popDue(now)) this.add(key);
      this.#arm();
    });
  }
}

/** Keys in order of arrival within their group; groups with keys take turns. */
class Turns {
  readonly #groupOf: (key: string) => string;
  readonly #groups = new Map<string, Fifo<string>>();
  readonly #turns = new Fifo<string>();
  size = 0;

  constructor(groupOf: (key: string) => string) {
    this.#groupOf = groupOf;
  }

  put(key: string): void {
    const group = this.#groupOf(key);
    const keys = this.#groups.get(group) ?? new Fifo<string>();
    if (keys.size === 0) {
      this.#groups.set(group, keys);
      this.#turns.put(group);
    }
    keys.put(key);
    this.size += 1;
  }

  take(): string | undefined {
    const group = this.#turns.take();
    if (group === undefined) return undefined;
    const keys = this.#groups.get(group);
    const key = keys?.take();
    if (keys !== undefined && keys.size > 0) this.#turns.put(group);
    else this.#groups.delete(group);
    this.size -= 1;
    return key;
  }

  clear(): void {
    this.#groups.clear();
    this.#turns.clear();
    this.size = 0;
  }
}

/** An array with a moving head, because `shift` copies a long array. */
class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  put(item: T): void {
    this.#items.push(item);
  }

  take(): T | undefined {
    const item = this.#items[this.#head];
    if (this.#head < this.#items.length) this.#head += 1;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
