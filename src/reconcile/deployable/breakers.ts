/**
 * Keeps a broker that does not answer from holding up the others: so many messages to one are under way at most, and after some failures
 * in a row it is left alone for a while, with one message now and then to see whether it is back. Nothing is lost meanwhile: what was to be
 * sent stays in the outbox.
 */
import { ChannelError } from '../../broker/index.ts';

interface BreakerOptions {
  /** Messages to one broker at a time. */
  readonly mostAtOnce?: number;
  /** After so many failures in a row it is left alone. */
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
  /** Until then only nothing is sent; after it one message tries. */
  closedUntil: number;
  trying: boolean;
  /** When the next of those that were turned away comes again. */
  nextTurn: number;
}

/** Comes again so soon where all places are taken. */
const busyMilliseconds = 100;
/** Thousands may wait for one broker: they come again one after the other, or they would do nothing but ask. */
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
        // A message that could not even be made is no fault of the broker's, and what was understood and not taken says nothing about the next.
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
