/** What is to be looked at of each snapshot, kept small and read once: a round may need it for tens of thousands of installations. */
import { FleetError, type HealthProfile, profileOf, type SnapshotStore } from '../../../fleet/index.ts';

/** Hundreds of operators, some versions of each, for three environments. */
const mostKept = 5_000;

export class SnapshotProfiles {
  readonly #snapshots: Pick<SnapshotStore, 'get'>;
  /** In the order of their last use. */
  readonly #known = new Map<string, Promise<HealthProfile>>();

  constructor(snapshots: Pick<SnapshotStore, 'get'>) {
    this.#snapshots = snapshots;
  }

  /** Undefined where it is not kept any more. */
  async of(snapshot: string): Promise<HealthProfile | undefined> {
    const known = this.#known.get(snapshot) ?? this.#read(snapshot);
    this.#known.delete(snapshot);
    this.#known.set(snapshot, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostKept && oldest !== undefined) this.#known.delete(oldest);
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
