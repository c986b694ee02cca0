/**
 * `RetryTimes` remembers, in this process only, when an action of a rollout that could not be done may be tried again.
 */
import type { Clock } from '../../../runtime/index.ts';
import type { Rollout, RolloutAction } from './rollout.ts';

type Kind = RolloutAction['kind'];

export class RetryTimes {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #retryMilliseconds: number;
  /** Keyed by uid and kind of action. */
  readonly #times = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now'>, retryMilliseconds: number) {
    this.#clock = clock;
    this.#retryMilliseconds = retryMilliseconds;
  }

  /** The earliest time of the next try, in milliseconds since 1970; 0 if there is nothing to wait for. */
  notBefore({ metadata }: Rollout, kind: Kind): number {
    return this.#times.get(`${metadata.uid}/${kind}`) ?? 0;
  }

  /** Delays the next try by `factor` retry intervals. */
  delay({ metadata }: Rollout, kind: Kind, factor = 1): void {
    const now = this.#clock.now();
    for (const [id, at] of this.#times) if (at < now) this.#times.delete(id);
    this.#times.set(`${metadata.uid}/${kind}`, now + factor * this.#retryMilliseconds);
  }

  /** Lets every rollout that waits for a slot try again at once. */
  clearSlotWaits(): void {
    for (const id of this.#times.keys()) if (/\/(start|resume)$/.test(id)) this.#times.delete(id);
  }
}
