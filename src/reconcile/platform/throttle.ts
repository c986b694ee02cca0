/** How often something is summed up: counts and totals change with every object, and nobody reads them that fast. */
import type { Clock } from '../../runtime/index.ts';

export class Throttle {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  /** When each was last summed up, by the clock that never steps back. */
  readonly #lastMarked = new Map<string, number>();

  constructor(clock: Clock, milliseconds = 2_000) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
  }

  /** How long to wait before the next time; 0 where it may be now. */
  wait(key: string): number {
    const last = this.#lastMarked.get(key);
    return last === undefined ? 0 : Math.max(0, last + this.#milliseconds - this.#clock.monotonic());
  }

  mark(key: string): void {
    const now = this.#clock.monotonic();
    for (const [other, last] of this.#lastMarked) if (last + this.#milliseconds < now) this.#lastMarked.delete(other);
    this.#lastMarked.set(key, now);
  }
}
