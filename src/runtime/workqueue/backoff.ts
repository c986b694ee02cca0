/** Backoff: growing per key, and limited over all keys, so that many failing keys do not cause a retry storm. */

export interface BackoffOptions {
  /** The wait after the first failure. */
  baseMilliseconds?: number;
  maximumMilliseconds?: number;
}

/** The backoff of each key: it doubles with each failure, up to a maximum, until the key is forgotten. */
export class KeyBackoff {
  readonly #base: number;
  readonly #maximum: number;
  readonly #failures = new Map<string, number>();

  constructor({ baseMilliseconds = 5, maximumMilliseconds = 300_000 }: BackoffOptions = {}) {
    this.#base = baseMilliseconds;
    this.#maximum = maximumMilliseconds;
  }

  /** Counts one more failure and returns the wait before the retry. */
  next(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(this.#base * 2 ** failures, this.#maximum);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }
}

export interface BucketOptions {
  tokensPerSecond: number;
  burst: number;
}

/** A token bucket that can be overdrawn: reserving a token that is not available yet returns the time until it is. */
export class TokenBucket {
  readonly #perMillisecond: number;
  readonly #burst: number;
  readonly #monotonic: () => number;
  #tokens: number;
  #at: number;

  constructor({ tokensPerSecond, burst }: BucketOptions, monotonic: () => number) {
    this.#perMillisecond = tokensPerSecond / 1000;
    this.#burst = burst;
    this.#monotonic = monotonic;
    this.#tokens = burst;
    this.#at = monotonic();
  }

  /** Takes one token; returns the milliseconds until it is available. */
  reserve(): number {
    this.#refill();
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMillisecond;
  }

  /** Takes one token only if it is available. */
  tryTake(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #refill(): void {
    const now = this.#monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMillisecond);
    this.#at = now;
  }
}
