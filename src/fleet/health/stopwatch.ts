/**
 * How long somebody else took to answer. This process reads what has come in only when it gets round to it: while it is busy with the pods of
 * a hundred clusters, every one of their webhooks would seem slow. What was not there when it last looked has come since, and no more
 * than that is held against who was asked.
 */
import type { Clock } from '../../runtime/index.ts';

const everyMilliseconds = 25;
/** As long as it takes who has nothing else to do to look twice. */
const promptMilliseconds = 100;

interface Measurement {
  /** Milliseconds that it has surely taken so far, since `start` or the last `restart`. */
  elapsed(): number;
  /** What went before does not count. */
  restart(): void;
  stop(): void;
}

export class Stopwatch {
  readonly #clock: Clock;
  #running = 0;
  #looking = false;
  /** When this process has last looked for what came in, and the time before. */
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
      this.#look();
    }
    let began = this.#clock.monotonic();
    return {
      elapsed: () => {
        const now = this.#clock.monotonic();
        // The last look may have been the very one that found the answer.
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

  /** An immediate comes right after sockets were read, and once between two such times, which a timer alone need not. */
  #look(): void {
    this.#clock.schedule(everyMilliseconds, () =>
      setImmediate(() => {
        this.#before = this.#last;
        this.#last = this.#clock.monotonic();
        this.#looking = this.#running > 0;
        if (this.#looking) this.#look();
      }),
    );
  }
}
