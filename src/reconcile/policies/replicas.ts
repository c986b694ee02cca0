/** Tracks the webhook replicas and the policy revision that each enforces. */
import { isAtLeast, type ReplicaReport, readReplicaLease } from '../../api/index.ts';
import type { PolicyState } from '../../policy/internal.ts';
import type { Lease } from '../../runtime/internal.ts';

export interface Replica extends ReplicaReport {
  /** The Lease was not renewed within its duration. */
  readonly silent: boolean;
}

/**
 * Follows the Leases. A Lease counts as renewed when we see it change, by our own clock: the clocks of different
 * machines do not agree.
 */
export class Replicas {
  readonly #seen = new Map<string, { readonly renewTime: string; readonly at: number }>();

  /** `now` is monotonic. */
  read(leases: Iterable<Lease>, now: number): Replica[] {
    const present = new Set<string>();
    const replicas = [...leases].flatMap((lease) => {
      const report = readReplicaLease(lease);
      if (report === undefined) return [];
      const { name } = lease.metadata;
      const renewTime = lease.spec?.renewTime ?? '';
      present.add(name);
      const known = this.#seen.get(name);
      const at = known?.renewTime === renewTime ? known.at : now;
      this.#seen.set(name, { renewTime, at });
      return [{ ...report, silent: now - at > (lease.spec?.leaseDurationSeconds ?? 0) * 1000 }];
    });
    for (const name of this.#seen.keys()) if (!present.has(name)) this.#seen.delete(name);
    return replicas;
  }
}

/** `behind` lists the answering replicas that do not enforce this generation. */
export function behind(replicas: readonly Replica[], { name, resourceVersion }: PolicyState): string[] {
  return replicas
    .filter((replica) => !replica.silent && !hasApplied(replica, name, resourceVersion))
    .map(({ identity }) => identity);
}

export function hasApplied({ appliedVersion, absent }: Replica, policy: string, resourceVersion: string): boolean {
  return isAtLeast(appliedVersion, resourceVersion) && !absent.includes(policy);
}
