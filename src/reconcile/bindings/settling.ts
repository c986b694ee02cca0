/** Collects changes: quick successive changes of the bindings of an object cause one deployment, not one each. */
import type { Clock } from '../../runtime/index.ts';

export class Settling {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  /** The monotonic time of the first change that is not applied yet, per object. */
  readonly #since = new Map<string, number>();

  constructor(clock: Clock, milliseconds = 2_000) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
  }

  /** The milliseconds to wait before the changes of an object are applied; 0 if they are due, or there are none. */
  wait(uid: string, changes: boolean): number {
    const now = this.#clock.monotonic();
    // Objects that were deleted meanwhile never ask again.
    for (const [other, since] of this.#since) if (since + 10 * this.#milliseconds < now) this.#since.delete(other);
    const since = this.#since.get(uid) ?? now;
    const wait = changes ? Math.max(0, since + this.#milliseconds - now) : 0;
    if (wait > 0) this.#since.set(uid, since);
    else this.#since.delete(uid);
    return wait;
  }
}
