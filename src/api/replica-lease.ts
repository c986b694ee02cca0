/**
 * How a replica of the webhook tells the leader what it judges by: one Lease a replica, renewed while it is ready, with the
 * version of all Policies that it has taken in. One small object a replica, however many policies there are; the leader works
 * out from it which revision of each Policy is in force everywhere.
 */
import type { Lease } from '../runtime/internal.ts';
import { GROUP } from './constants.ts';

export interface ReplicaReport {
  /** Of the replica, among all. */
  readonly identity: string;
  /** Every Policy written up to this resourceVersion has been taken in, and is in force unless `absent` names it. */
  readonly appliedVersion: string;
  /** Of the set that it judges by. */
  readonly revision: string;
  /** Policies that are not in force there: they do not compile, or wait for what they read. */
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
/** An annotation must not grow without end; more than this and the replica counts as one that has taken in nothing. */
const mostAbsent = 500;

/** A name that a Lease can have, of an identity of any shape. */
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

/** Undefined where it is no report. */
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

/** Whether a version of a collection is at least as new as one of an object in it. They are numbers as long as etcd counts them. */
export function isAtLeast(version: string, wanted: string): boolean {
  if (!/^\d+$/.test(version) || !/^\d+$/.test(wanted)) return version === wanted;
  return version.length === wanted.length ? version >= wanted : version.length > wanted.length;
}
