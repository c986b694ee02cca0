/** Tracks the bundle that consumers hold: which authorities it contains, and since when. */
import type { Clock } from '../clock.ts';
import type { Bundle, Publication } from './bundle.ts';
import { inspect, splitBundle } from './inspect.ts';

export class Trust {
  readonly #settleMilliseconds: number;
  readonly #clock: Clock;
  readonly #since = new Map<string, number>();
  #held: Bundle | undefined;
  #known = false;
  #outpacedBy: number | undefined;

  constructor(settleMilliseconds: number, clock: Clock) {
    this.#settleMilliseconds = settleMilliseconds;
    this.#clock = clock;
  }

  /** The generation of another bundle that consumers hold and that takes precedence over ours. */
  get outpacedBy(): number | undefined {
    return this.#outpacedBy;
  }

  /** Bundles are compared by content, not by generation: a store that was lost and restored can repeat a generation. */
  published(ours: Bundle, { before, held }: Publication): void {
    // Another replica has published since then, perhaps more than once, so an authority of the current bundle may have
    // been missing in between.
    if (!isSame(before, this.#held)) this.#since.clear();
    this.#held = held;
    this.#known = true;
    this.#outpacedBy = held.pem !== ours.pem ? held.generation : undefined;
    const now = this.#clock.monotonic();
    const fingerprints = new Set(splitBundle(held.pem).map((pem) => inspect(pem).fingerprint));
    for (const fingerprint of this.#since.keys()) if (!fingerprints.has(fingerprint)) this.#since.delete(fingerprint);
    for (const fingerprint of fingerprints) if (!this.#since.has(fingerprint)) this.#since.set(fingerprint, now);
  }

  /** Resets the state after a failure to read the bundle of consumers. */
  unknown(): void {
    this.#known = false;
    this.#outpacedBy = undefined;
  }

  settled(fingerprint: string): boolean {
    const since = this.#since.get(fingerprint);
    return this.#known && since !== undefined && this.#clock.monotonic() - since >= this.#settleMilliseconds;
  }
}

const isSame = (one: Bundle, other: Bundle | undefined): boolean =>
  one.generation === other?.generation && one.pem === other.pem;
