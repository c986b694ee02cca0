/**
 * Work of many clients in turns: a little for each address after the other, and only for a few milliseconds before the
 * event loop does something else. Whatever some clients send at once, others wait for their own share only.
 */
import { type Placed, Shares } from './shares.ts';

/** The longest time that work blocks the event loop, but for the last piece of it. */
const mostMilliseconds = 10;

export class Turns<Item extends Placed> {
  readonly #waiting = new Shares<Item>();
  readonly #work: (item: Item) => void;
  #isScheduled = false;

  /** `work` does a small piece of work for an item. To do more of it, the item is added again. */
  constructor(work: (item: Item) => void) {
    this.#work = work;
  }

  add(item: Item): void {
    this.#waiting.add(item);
    this.#schedule();
  }

  delete(item: Item): void {
    this.#waiting.delete(item);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    const until = performance.now() + mostMilliseconds;
    try {
      do {
        const item = this.#waiting.take('oldest');
        if (item === undefined) return;
        this.#work(item);
      } while (performance.now() < until);
    } finally {
      this.#schedule();
    }
  };
}
