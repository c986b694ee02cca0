/**
 * Circuit breakers per broker: an unresponsive broker must not slow down the others.
 *
 * Messages in flight to one broker are limited. After some consecutive failures the breaker opens for a while, and
 * single messages probe whether the broker is available again. Nothing is lost meanwhile: messages stay in the outbox.
 */
import { ChannelError } from '../../broker/index.ts';

interface BreakerOptions {
  /** The limit of concurrent messages to one broker. */
  readonly mostAtOnce?: number;
  /** The breaker opens after so many consecutive failures. */
  readonly failures?: number;
  readonly shortestMilliseconds?: number;
  readonly longestMilliseconds?: number;
}

type Entry =
  | { readonly entered: true; succeeded(): void; failed(error: unknown, now: number): void }
  | { readonly entered: false; readonly waitMilliseconds: number };

interface State {
  atOnce: number;
  failures: number;
  /** Nothing is sent until then; afterwards one message probes. */
  closedUntil: number;
  trying: boolean;
  /** When the next rejected message is retried. */
  nextTurn: number;
}

/** The retry delay if the concurrency limit is reached. */
const busyMilliseconds = 100;
/** Thousands of messages may wait for one broker: their retries are spread out. */
const turnMilliseconds = 1;

export class Breakers {
  readonly #states = new Map<string, State>();
  readonly #options: Required<BreakerOptions>;

  constructor(options: BreakerOptions = {}) {
    this.#options = {
      mostAtOnce: 48,
      failures: 5,
      shortestMilliseconds: 1_000,
      longestMilliseconds: 30_000,
      ...options,
    };
  }

  enter(broker: string, now: number): Entry {
    const state = this.#states.get(broker) ?? { atOnce: 0, failures: 0, closedUntil: 0, trying: false, nextTurn: 0 };
    this.#states.set(broker, state);
    const failing = state.failures >= this.#options.failures;
    if (now < state.closedUntil) return this.#rejected(state, now, state.closedUntil);
    if ((failing && state.trying) || state.atOnce >= this.#options.mostAtOnce) {
      return this.#rejected(state, now, now + busyMilliseconds);
    }
    state.atOnce += 1;
    if (failing) state.trying = true;
    return this.#entry(state);
  }

  #rejected(state: State, now: number, soonest: number): Entry {
    const latest = soonest + this.#options.longestMilliseconds;
    state.nextTurn = Math.min(Math.max(soonest, state.nextTurn + turnMilliseconds), latest);
    return { entered: false, waitMilliseconds: state.nextTurn - now };
  }

  #entry(state: State): Entry {
    const left = () => {
      state.atOnce -= 1;
      state.trying = false;
    };
    return {
      entered: true,
      succeeded() {
        left();
        state.failures = 0;
        state.closedUntil = 0;
      },
      failed: (error, now) => {
        left();
        // A message that could not be built is not the broker's fault, and a rejected message says nothing about the
        // next one.
        if (!(error instanceof ChannelError) || error.failure === 'refused') return;
        const asked = error.retryAfterMilliseconds ?? 0;
        state.failures += 1;
        state.closedUntil = Math.max(state.closedUntil, now + Math.max(asked, this.#rest(state.failures)));
      },
    };
  }

  #rest(failures: number): number {
    const { shortestMilliseconds, longestMilliseconds, failures: most } = this.#options;
    if (failures < most) return 0;
    return Math.min(shortestMilliseconds * 2 ** Math.min(failures - most, 16), longestMilliseconds);
  }
}
