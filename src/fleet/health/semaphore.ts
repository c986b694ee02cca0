/**
 * Limits concurrency: the connections to all clusters together are limited (docs/requirements.md, 002: fewer than 100).
 */

export class Semaphore {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #open = 0;
  #peak = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The peak concurrency. */
  get peak(): number {
    return this.#peak;
  }

  /** Whether a caller is waiting. */
  get hasWaiters(): boolean {
    return this.#waiting.length > 0;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#open >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#open += 1;
    this.#peak = Math.max(this.#peak, this.#open);
    try {
      return await work();
    } finally {
      // The slot is handed to the next waiter, so that no other caller takes it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#open -= 1;
      else next();
    }
  }
}

/** Watches are long-lived: each takes one of a fixed number, or is not started. */
export class WatchBudget {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get taken(): number {
    return this.#taken;
  }

  take(): boolean {
    if (this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  give(): void {
    this.#taken -= 1;
  }
}
