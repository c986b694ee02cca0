/**
 * How many runs of Helm go on at once. Each takes about 100 MiB and a connection to a cluster of its own, and there is one process to have
 * both for, so that the places are counted over all who run Helm: whoever renders, installs or goes back.
 */

/** What the memory in manifests/rollouts is for, and docs/runbooks/queue-full.md says. */
export const mostHelmRuns = 16;
/** The way back never waits behind what is on its way: one that hangs in a hook would keep a place for minutes. */
const reservedForRollback = 4;

interface Entry {
  /** What is taken back goes first, and has places that nobody else gets. */
  readonly isRollback?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export class HelmSlots {
  readonly #most: number;
  readonly #mostOnTheWay: number;
  readonly #back: (() => void)[] = [];
  readonly #onTheWay: (() => void)[] = [];
  #taken = 0;

  constructor(most = mostHelmRuns, left = reservedForRollback) {
    this.#most = most;
    this.#mostOnTheWay = most - left;
  }

  /** Rejects with the reason of the signal where that comes first. */
  async with<Result>({ isRollback = false, signal }: Entry, run: () => Promise<Result>): Promise<Result> {
    await this.#enter(isRollback ? this.#back : this.#onTheWay, signal);
    try {
      return await run();
    } finally {
      this.#taken -= 1;
      this.#next();
    }
  }

  #enter(queue: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        const index = queue.indexOf(enter);
        if (index >= 0) queue.splice(index, 1);
        reject(signal?.reason);
      };
      const enter = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      if (signal?.aborted === true) return reject(signal.reason);
      signal?.addEventListener('abort', leave, { once: true });
      queue.push(enter);
      this.#next();
    });
  }

  #next(): void {
    for (;;) {
      const queue = this.#back.length > 0 ? this.#back : this.#onTheWay;
      if (this.#taken >= (queue === this.#back ? this.#most : this.#mostOnTheWay)) return;
      const enter = queue.shift();
      if (enter === undefined) return;
      this.#taken += 1;
      enter();
    }
  }
}

/** Of this process. */
export const helmSlots = new HelmSlots();
