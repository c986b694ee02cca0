/**
 * The Lease through which a webhook replica reports its policies to the leader.
 *
 * Each replica renews one Lease while it is ready. The Lease holds the resourceVersion up to which the replica has
 * applied all Policies. It stays small however many policies exist; the leader derives from it which revision of each
 * Policy is in force on all replicas.
 */
import type { Lease } from '../runtime/internal.ts';
import { GROUP } from './constants.ts';

export interface ReplicaReport {
  /** The identity of the replica, unique among all replicas. */
  readonly identity: string;
  /** Every Policy up to this resourceVersion is applied, and in force unless listed in `absent`. */
  readonly appliedVersion: string;
  /** The revision of the policy set that the replica evaluates. */
  readonly revision: string;
  /** Policies that are not in force: they do not compile, or wait for objects that they read. */
  readonly absent: readonly string[];
}

const replicaLabels = {
  'app.kubernetes.io/managed-by': 'kidp',
  'app.kubernetes.io/component': 'admission-replica',
};
export const replicaSelector = Object.entries(replicaLabels)
  .map(([key, value]) => `${key}=${value}`)
  .join(',');

const annotations = {
  appliedVersion: `${GROUP}/policies-applied`,
  revision: `${GROUP}/policies-revision`,
  absent: `${GROUP}/policies-absent`,
};
/** The limit of an annotation. A replica with more absent policies reports that it has applied none. */
const mostAbsent = 500;

/** `replicaLeaseName` derives a valid Lease name from any identity. */
export function replicaLeaseName(identity: string): string {
  const usable = identity
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return `kidp-replica-${usable.slice(0, 200) || 'unnamed'}`;
}

export function replicaLease(namespace: string, report: ReplicaReport, seconds: number, now: number): Lease {
  const tooMany = report.absent.length > mostAbsent;
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      namespace,
      name: replicaLeaseName(report.identity),
      labels: replicaLabels,
      annotations: {
        [annotations.appliedVersion]: tooMany ? '0' : report.appliedVersion,
        [annotations.revision]: report.revision,
        [annotations.absent]: tooMany ? '' : report.absent.join(','),
      },
    },
    spec: {
      holderIdentity: report.identity,
      leaseDurationSeconds: seconds,
      renewTime: new Date(now).toISOString().replace('Z', '000Z'),
    },
  };
}

/** `readReplicaLease` returns the report in a Lease, or undefined if there is none. */
export function readReplicaLease({ metadata, spec }: Lease): ReplicaReport | undefined {
  const written = metadata.annotations ?? {};
  const identity = spec?.holderIdentity;
  const appliedVersion = written[annotations.appliedVersion];
  if (identity === undefined || appliedVersion === undefined) return undefined;
  const absent = written[annotations.absent] ?? '';
  return {
    identity,
    appliedVersion,
    revision: written[annotations.revision] ?? '',
    absent: absent === '' ? [] : absent.split(','),
  };
}

/**
 * `isAtLeast` reports whether the resourceVersion of a collection is at least that of an object. Both are numbers if
 * etcd issues them.
 */
export function isAtLeast(version: string, wanted: string): boolean {
  if (!/^\d+$/.test(version) || !/^\d+$/.test(wanted)) return version === wanted;
  return version.length === wanted.length ? version >= wanted : version.length > wanted.length;
}
