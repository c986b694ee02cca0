/** Long work on the event loop: in short slices, with as much rest after a long one as it took. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** The longest time that work blocks the event loop, but for the last step of it. */
const sliceMilliseconds = 10;
/** A slice that one step made longer than this is followed by a rest. */
const longMilliseconds = 2 * sliceMilliseconds;

/** How much of the current turn of the event loop work has used. */
export class Slice {
  #began: number | undefined;

  /** Whether others should have their turn. The first call in a turn of the event loop starts the slice. */
  isOver(): boolean {
    if (this.#began === undefined) {
      this.#began = performance.now();
      setImmediate(() => {
        this.#began = undefined;
      });
    }
    return performance.now() - this.#began >= sliceMilliseconds;
  }

  /** Lets the event loop run, with a rest if the work took long. */
  async rest(): Promise<void> {
    const took = this.#began === undefined ? 0 : performance.now() - this.#began;
    await (took > longMilliseconds ? sleep(took) : nextTurn());
  }
}

/**
 * `inSlices` runs steps until they return, and lets the event loop run in between. It returns undefined if the deadline,
 * in milliseconds since 1970, passes first.
 *
 * A new connection needs several turns of the event loop. The rest after a long step gives it all of them at once: others
 * wait for one step, not for one step in each turn.
 */
export function inSlices<T>(steps: Iterator<undefined, T, undefined>): Promise<T>;
export function inSlices<T>(steps: Iterator<undefined, T, undefined>, deadline: number): Promise<T | undefined>;
export async function inSlices<T>(
  steps: Iterator<undefined, T, undefined>,
  deadline = Number.POSITIVE_INFINITY,
): Promise<T | undefined> {
  const slice = new Slice();
  for (;;) {
    while (slice.isOver()) await slice.rest();
    if (Date.now() >= deadline) return undefined;
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
