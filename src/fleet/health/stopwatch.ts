/**
 * Measures the response time of others.
 *
 * A busy process reads sockets late: while it handles the pods of a hundred clusters, every webhook would seem slow. A
 * response that was not there at the last socket read arrived after it, so only the time up to that read counts.
 */
import type { Clock } from '../../runtime/index.ts';

const everyMilliseconds = 25;
/** An idle process reads sockets twice within this time. */
const promptMilliseconds = 100;

interface Measurement {
  /** The milliseconds that have certainly passed since `start` or the last `restart`. */
  elapsed(): number;
  /** Discards the time so far. */
  restart(): void;
  stop(): void;
}

export class Stopwatch {
  readonly #clock: Clock;
  #running = 0;
  #looking = false;
  /** When this process last read its sockets, and the time before. */
  #last = 0;
  #before = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): Measurement {
    this.#running += 1;
    if (!this.#looking) {
      this.#looking = true;
      this.#last = this.#before = this.#clock.monotonic();
      this.#observe();
    }
    let began = this.#clock.monotonic();
    return {
      elapsed: () => {
        const now = this.#clock.monotonic();
        // The last read may be the one that found the answer.
        const asOf = now - this.#before <= promptMilliseconds ? now : this.#before;
        return Math.max(0, asOf - began);
      },
      restart: () => {
        began = this.#clock.monotonic();
      },
      stop: () => {
        this.#running -= 1;
      },
    };
  }

  /** An immediate runs right after sockets are read; a timer does not have to. */
  #observe(): void {
    this.#clock.schedule(everyMilliseconds, () =>
      setImmediate(() => {
        this.#before = this.#last;
        this.#last = this.#clock.monotonic();
        this.#looking = this.#running > 0;
        if (this.#looking) this.#observe();
      }),
    );
  }
}
