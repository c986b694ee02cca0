/**
 * Limits concurrent Helm runs. Each takes about 100 MiB and a connection to a cluster, so the slots are shared by all
 * callers in this process: render, install and rollback.
 */

/** The memory limit in manifests/rollouts is sized for this; see docs/runbooks/queue-full.md. */
export const mostHelmRuns = 16;
/**
 * Slots reserved for rollbacks, which must never wait behind installs: one that hangs in a hook would hold its slot for
 * minutes.
 */
const reservedForRollback = 4;

interface Entry {
  /** Rollbacks go first, and have reserved slots. */
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

  /** Rejects with the reason of the signal if that aborts first. */
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

/** The slots of this process. */
export const helmSlots = new HelmSlots();
