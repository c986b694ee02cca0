/** Limits how often a status summary is written: counts and totals change with every object. */
import type { Clock } from '../../runtime/index.ts';

export class Throttle {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  /** The monotonic time of the last update per key. */
  readonly #lastMarked = new Map<string, number>();

  constructor(clock: Clock, milliseconds = 2_000) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
  }

  /** The milliseconds to wait before the next update; 0 if it is due. */
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
