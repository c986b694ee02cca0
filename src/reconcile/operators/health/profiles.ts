/**
 * A cache of the health profiles of snapshots. They are small: a round may need them for tens of thousands of
 * installations.
 */
import { FleetError, type HealthProfile, profileOf, type SnapshotStore } from '../../../fleet/index.ts';

/** Enough for hundreds of operators with some versions each in three environments. */
const maxCached = 5_000;

export class SnapshotProfiles {
  readonly #snapshots: Pick<SnapshotStore, 'get'>;
  /** In the order of last use. */
  readonly #known = new Map<string, Promise<HealthProfile>>();

  constructor(snapshots: Pick<SnapshotStore, 'get'>) {
    this.#snapshots = snapshots;
  }

  /** Returns undefined if the snapshot no longer exists. */
  async of(snapshot: string): Promise<HealthProfile | undefined> {
    const known = this.#known.get(snapshot) ?? this.#read(snapshot);
    this.#known.delete(snapshot);
    this.#known.set(snapshot, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxCached && oldest !== undefined) this.#known.delete(oldest);
    try {
      return await known;
    } catch (error) {
      this.#known.delete(snapshot);
      if (error instanceof FleetError) return undefined;
      throw error;
    }
  }

  async #read(snapshot: string): Promise<HealthProfile> {
    return profileOf(await this.#snapshots.get(snapshot));
  }
}
