/**
 * Applies the outcomes of actions to a status. Each outcome names its attempt: if the rollout has moved on since (a
 * rollback started, the cluster was removed), the outcome changes nothing.
 */
import type { HealthReport } from '../../../../fleet/index.ts';
import {
  type ClusterStatus,
  type Facts,
  isTouched,
  omit,
  type Plan,
  phaseOf,
  type RollbackReason,
  type Rollout,
  type RolloutStatus,
  toMilliseconds,
  toTimestamp,
  updateCluster,
  updateClusters,
} from '../rollout.ts';
import { ownedClusters } from './actions.ts';
import { maxRetryMilliseconds } from './clock-skew.ts';
import { recordProgress } from './finish.ts';
import { startRollback } from './rollback.ts';

export interface Planned {
  readonly plan: Plan;
  readonly clusters: readonly ClusterStatus[];
  readonly approvals: NonNullable<RolloutStatus['approvals']>;
}

export function planned({ status = {} }: Rollout, { plan, clusters, approvals }: Planned): RolloutStatus {
  if (status.plan !== undefined || phaseOf(status) !== 'Planning') return status;
  return { ...status, plan, clusters: [...clusters], approvals };
}

/** The rollout has acquired a slot and its Leases. */
export function started({ status = {} }: Rollout, now: number): RolloutStatus {
  if (status.plan === undefined || phaseOf(status) !== 'Planning') return status;
  const at = toTimestamp(now);
  return { ...status, phase: 'Deploying', stage: 1, startedAt: at, stageStartedAt: at, progressedAt: at };
}

/** The rollout has a slot again. Its progress deadline starts again. */
export function resumed({ status = {} }: Rollout, now: number): RolloutStatus {
  if (status.heldSince === undefined) return status;
  return recordProgress(omit(status, 'heldSince'), now);
}

/** A finished rollout is rolled back on every cluster that no later rollout has changed. */
export function reopened(
  object: Rollout,
  facts: Facts,
  { reason, message }: { readonly reason: RollbackReason; readonly message: string },
  now: number,
): RolloutStatus {
  const { status = {} } = object;
  const owned = new Set(ownedClusters(object, facts).map(({ name }) => name));
  if (status.rollback !== undefined || owned.size === 0) return status;
  const rest = updateClusters(status, (cluster) => {
    if (owned.has(cluster.name) || !isTouched(cluster)) return cluster;
    return { ...cluster, state: 'Skipped' as const, message: 'replaced by a later OperatorDeployment' };
  });
  return startRollback(object, rest, reason, message, now);
}

/** The release on a cluster before the rollout changed it. */
export interface PreviousRelease {
  readonly fromVersion?: string;
  readonly snapshotBefore?: string;
  readonly colorBefore?: 'Blue' | 'Green';
  readonly deploymentBefore?: string;
}

export function prepared(
  { status = {} }: Rollout,
  name: string,
  attempt: string,
  before: PreviousRelease,
  now: number,
): RolloutStatus {
  return updateCluster(status, name, (cluster) => {
    if (cluster.state !== 'Deploying' || cluster.attempt !== attempt || cluster.preparedAt !== undefined)
      return cluster;
    const { fromVersion, ...rest } = cluster;
    return { ...rest, ...before, preparedAt: toTimestamp(now) };
  });
}

export interface Deployed {
  readonly revision: number;
  readonly namespace: string;
}

export function deployed(
  { status = {}, spec }: Rollout,
  name: string,
  attempt: string,
  { revision, namespace }: Deployed,
  now: number,
): RolloutStatus {
  const at = toTimestamp(now);
  const isDone = spec.strategy === 'Direct' && status.plan?.config.skipHealthChecks === true;
  const next = updateCluster(status, name, (cluster) => {
    if (cluster.state !== 'Deploying' || cluster.attempt !== attempt) return cluster;
    const rest = omit(cluster, 'retryAt', 'failuresInRow', 'healthySince', 'lastCheckedAt', 'message');
    const state = isDone ? 'Healthy' : 'Validating';
    return { ...rest, state, revision, namespace, deployedAt: at, ...(isDone ? { finishedAt: at } : {}) };
  });
  return next === status ? status : recordProgress(next, now);
}

export function switched({ status = {} }: Rollout, name: string, attempt: string, now: number): RolloutStatus {
  const next = updateCluster(status, name, (cluster) => {
    if (cluster.state !== 'Deploying' || cluster.attempt !== attempt) return cluster;
    const rest = omit(cluster, 'retryAt', 'failuresInRow', 'healthySince', 'lastCheckedAt', 'message');
    return { ...rest, state: 'Validating', switched: true, switchedAt: toTimestamp(now) };
  });
  return next === status ? status : recordProgress(next, now);
}

export interface Failure {
  /** Whether a retry may help. */
  readonly temporary: boolean;
  readonly message: string;
}

/** The number of tries of a rollback that the cluster refuses, before it counts as failed. */
const maxRestores = 3;

/** A step failed. An unreachable cluster is retried; an error of Helm is final. */
export function stepFailed(
  { status = {} }: Rollout,
  name: string,
  attempt: string,
  { temporary, message }: Failure,
  now: number,
  retryMilliseconds: number,
): RolloutStatus {
  return updateCluster(status, name, (cluster) => {
    if (cluster.attempt !== attempt) return cluster;
    const failuresInRow = (cluster.failuresInRow ?? 0) + 1;
    const wait = Math.min(retryMilliseconds * 2 ** Math.min(failuresInRow - 1, 16), maxRetryMilliseconds);
    const again = { ...cluster, failuresInRow, message, retryAt: toTimestamp(now + wait) };
    if (cluster.state === 'Deploying') {
      return temporary ? again : { ...omit(cluster, 'retryAt'), state: 'Unhealthy', message };
    }
    if (cluster.state !== 'RollingBack' || cluster.restoredAt !== undefined) return cluster;
    // Only refusals count as tries: an unreachable cluster has not been tried yet.
    if (temporary) return again;
    const refusals = (cluster.refusals ?? 0) + 1;
    if (refusals < maxRestores) return { ...again, refusals };
    const failed = `rollback failed: ${message}`;
    return { ...omit(cluster, 'retryAt'), refusals, state: 'Failed', finishedAt: toTimestamp(now), message: failed };
  });
}

export type HealthOutcome = Pick<HealthReport, 'state' | 'message'> & {
  /** When the check started, in milliseconds since 1970. A check that started before the last change does not count. */
  readonly checkStartedAt: number;
};

/**
 * A health check has finished. The state Unknown is neither a success nor a failure: only the progress deadline decides
 * about it.
 */
export function checked(
  { status = {}, spec }: Rollout,
  name: string,
  attempt: string,
  { state, message, checkStartedAt }: HealthOutcome,
): RolloutStatus {
  const threshold = spec.health?.failureThreshold ?? 3;
  return updateCluster(status, name, (cluster) => {
    const isMonitored = cluster.state === 'Validating' || cluster.state === 'Healthy';
    const isRestored = cluster.state === 'RollingBack' && cluster.restoredAt !== undefined;
    if (cluster.attempt !== attempt || !(isMonitored || isRestored)) return cluster;
    const since = isRestored ? cluster.restoredAt : (cluster.switchedAt ?? cluster.deployedAt);
    if (checkStartedAt < toMilliseconds(since) || checkStartedAt < toMilliseconds(cluster.lastCheckedAt))
      return cluster;
    const lastCheckedAt = toTimestamp(checkStartedAt);
    const rest = omit(cluster, 'healthySince', 'message');
    if (state === 'Unknown') return { ...stillWatched(rest, isMonitored), lastCheckedAt, message };
    const checks = isMonitored ? { checks: (cluster.checks ?? 0) + 1 } : {};
    if (state === 'Healthy') {
      const checksPassed = isMonitored ? { checksPassed: (cluster.checksPassed ?? 0) + 1 } : {};
      const healthySince = cluster.healthySince ?? lastCheckedAt;
      return { ...rest, ...checks, ...checksPassed, failuresInRow: 0, lastCheckedAt, healthySince };
    }
    const failuresInRow = (cluster.failuresInRow ?? 0) + 1;
    const failing = { ...rest, ...checks, failuresInRow, lastCheckedAt, message };
    return isMonitored && failuresInRow >= threshold
      ? { ...failing, state: 'Unhealthy' }
      : stillWatched(failing, isMonitored);
  });
}

/** A cluster that was Healthy goes back to Validating when a check does not pass. */
const stillWatched = <T extends Omit<ClusterStatus, 'healthySince' | 'message'>>(
  cluster: T,
  isMonitored: boolean,
): T => (isMonitored && cluster.state === 'Healthy' ? { ...cluster, state: 'Validating' } : cluster);

export function restored(
  { status = {} }: Rollout,
  name: string,
  attempt: string,
  revision: number | undefined,
  now: number,
): RolloutStatus {
  const next = updateCluster(status, name, (cluster) => {
    if (cluster.state !== 'RollingBack' || cluster.attempt !== attempt || cluster.restoredAt !== undefined)
      return cluster;
    const rest = omit(cluster, 'retryAt', 'message', 'healthySince', 'lastCheckedAt');
    const at = { restoredAt: toTimestamp(now), failuresInRow: 0 };
    return { ...rest, ...at, ...(revision === undefined ? {} : { revision }) };
  });
  return next === status ? status : recordProgress(next, now);
}
