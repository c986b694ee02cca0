/**
 * What the outcome of an act makes of a status. Each says which attempt it belongs to: where the rollout has gone on without it (it was
 * taken back meanwhile, the cluster is gone), it changes nothing.
 */
import type { HealthReport } from '../../../../fleet/index.ts';
import {
  type ClusterStatus,
  type Facts,
  instantOf,
  isTouched,
  type Plan,
  phaseOf,
  type RollbackReason,
  type Rollout,
  type RolloutStatus,
  timeOf,
  withCluster,
  withClusters,
  without,
} from '../rollout.ts';
import { ownedClusters } from './actions.ts';
import { longestRetryMilliseconds } from './clock-skew.ts';
import { withProgress } from './finish.ts';
import { beginRollback } from './rollback.ts';

export interface Planned {
  readonly plan: Plan;
  readonly clusters: readonly ClusterStatus[];
  readonly approvals: NonNullable<RolloutStatus['approvals']>;
}

export function planned({ status = {} }: Rollout, { plan, clusters, approvals }: Planned): RolloutStatus {
  if (status.plan !== undefined || phaseOf(status) !== 'Planning') return status;
  return { ...status, plan, clusters: [...clusters], approvals };
}

/** It has its place, and its clusters for itself. */
export function started({ status = {} }: Rollout, now: number): RolloutStatus {
  if (status.plan === undefined || phaseOf(status) !== 'Planning') return status;
  const at = instantOf(now);
  return { ...status, phase: 'Deploying', stage: 1, startedAt: at, stageStartedAt: at, progressedAt: at };
}

/** It has a place again. The time that it may go without progress begins anew. */
export function resumed({ status = {} }: Rollout, now: number): RolloutStatus {
  if (status.heldSince === undefined) return status;
  return withProgress(without(status, 'heldSince'), now);
}

/** It had ended, and is taken back wherever nothing has come after it. */
export function reopened(
  object: Rollout,
  facts: Facts,
  { reason, message }: { readonly reason: RollbackReason; readonly message: string },
  now: number,
): RolloutStatus {
  const { status = {} } = object;
  const owned = new Set(ownedClusters(object, facts).map(({ name }) => name));
  if (status.rollback !== undefined || owned.size === 0) return status;
  const rest = withClusters(status, (cluster) => {
    if (owned.has(cluster.name) || !isTouched(cluster)) return cluster;
    return { ...cluster, state: 'Skipped' as const, message: 'another OperatorDeployment has come after it' };
  });
  return beginRollback(object, rest, reason, message, now);
}

/** What was there before an installation. */
export interface Before {
  readonly fromVersion?: string;
  readonly snapshotBefore?: string;
  readonly colorBefore?: 'Blue' | 'Green';
  readonly deploymentBefore?: string;
}

export function prepared(
  { status = {} }: Rollout,
  name: string,
  attempt: string,
  before: Before,
  now: number,
): RolloutStatus {
  return withCluster(status, name, (cluster) => {
    if (cluster.state !== 'Deploying' || cluster.attempt !== attempt || cluster.preparedAt !== undefined)
      return cluster;
    const { fromVersion, ...rest } = cluster;
    return { ...rest, ...before, preparedAt: instantOf(now) };
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
  const at = instantOf(now);
  const isDone = spec.strategy === 'Direct' && status.plan?.config.skipHealthChecks === true;
  const next = withCluster(status, name, (cluster) => {
    if (cluster.state !== 'Deploying' || cluster.attempt !== attempt) return cluster;
    const rest = without(cluster, 'retryAt', 'failuresInRow', 'healthySince', 'lastCheckedAt', 'message');
    const state = isDone ? 'Healthy' : 'Validating';
    return { ...rest, state, revision, namespace, deployedAt: at, ...(isDone ? { finishedAt: at } : {}) };
  });
  return next === status ? status : withProgress(next, now);
}

export function switched({ status = {} }: Rollout, name: string, attempt: string, now: number): RolloutStatus {
  const next = withCluster(status, name, (cluster) => {
    if (cluster.state !== 'Deploying' || cluster.attempt !== attempt) return cluster;
    const rest = without(cluster, 'retryAt', 'failuresInRow', 'healthySince', 'lastCheckedAt', 'message');
    return { ...rest, state: 'Validating', switched: true, switchedAt: instantOf(now) };
  });
  return next === status ? status : withProgress(next, now);
}

export interface Failure {
  /** Trying again may help. */
  readonly temporary: boolean;
  readonly message: string;
}

/** How often something that will not help by itself is tried on the way back, before people are called. */
const mostRestores = 3;

/** A step could not be taken. What is out of reach is tried again; what Helm refuses has failed. */
export function stepFailed(
  { status = {} }: Rollout,
  name: string,
  attempt: string,
  { temporary, message }: Failure,
  now: number,
  retryMilliseconds: number,
): RolloutStatus {
  return withCluster(status, name, (cluster) => {
    if (cluster.attempt !== attempt) return cluster;
    const failuresInRow = (cluster.failuresInRow ?? 0) + 1;
    const wait = Math.min(retryMilliseconds * 2 ** Math.min(failuresInRow - 1, 16), longestRetryMilliseconds);
    const again = { ...cluster, failuresInRow, message, retryAt: instantOf(now + wait) };
    if (cluster.state === 'Deploying') {
      return temporary ? again : { ...without(cluster, 'retryAt'), state: 'Unhealthy', message };
    }
    if (cluster.state !== 'RollingBack' || cluster.restoredAt !== undefined) return cluster;
    // Only what answered has refused: a cluster that was out of reach for long has had no try yet.
    if (temporary) return again;
    const refusals = (cluster.refusals ?? 0) + 1;
    if (refusals < mostRestores) return { ...again, refusals };
    const failed = `it could not be taken back: ${message}`;
    return { ...without(cluster, 'retryAt'), refusals, state: 'Failed', finishedAt: instantOf(now), message: failed };
  });
}

export type Checked = Pick<HealthReport, 'state' | 'message'> & {
  /** Milliseconds since 1970, before anything was asked: what was so before then counts for nothing. */
  readonly begunAt: number;
};

/** What cannot be asked is not well, and has not failed either: only time decides about it. */
export function checked(
  { status = {}, spec }: Rollout,
  name: string,
  attempt: string,
  { state, message, begunAt }: Checked,
): RolloutStatus {
  const threshold = spec.health?.failureThreshold ?? 3;
  return withCluster(status, name, (cluster) => {
    const isWatched = cluster.state === 'Validating' || cluster.state === 'Healthy';
    const isRestored = cluster.state === 'RollingBack' && cluster.restoredAt !== undefined;
    if (cluster.attempt !== attempt || !(isWatched || isRestored)) return cluster;
    const since = isRestored ? cluster.restoredAt : (cluster.switchedAt ?? cluster.deployedAt);
    if (begunAt < timeOf(since) || begunAt < timeOf(cluster.lastCheckedAt)) return cluster;
    const lastCheckedAt = instantOf(begunAt);
    const rest = without(cluster, 'healthySince', 'message');
    if (state === 'Unknown') return { ...stillWatched(rest, isWatched), lastCheckedAt, message };
    const checks = isWatched ? { checks: (cluster.checks ?? 0) + 1 } : {};
    if (state === 'Healthy') {
      const checksPassed = isWatched ? { checksPassed: (cluster.checksPassed ?? 0) + 1 } : {};
      const healthySince = cluster.healthySince ?? lastCheckedAt;
      return { ...rest, ...checks, ...checksPassed, failuresInRow: 0, lastCheckedAt, healthySince };
    }
    const failuresInRow = (cluster.failuresInRow ?? 0) + 1;
    const failing = { ...rest, ...checks, failuresInRow, lastCheckedAt, message };
    return isWatched && failuresInRow >= threshold
      ? { ...failing, state: 'Unhealthy' }
      : stillWatched(failing, isWatched);
  });
}

/** A cluster that was done is not done any more where it is not well. */
const stillWatched = <T extends Omit<ClusterStatus, 'healthySince' | 'message'>>(cluster: T, isWatched: boolean): T =>
  isWatched && cluster.state === 'Healthy' ? { ...cluster, state: 'Validating' } : cluster;

export function restored(
  { status = {} }: Rollout,
  name: string,
  attempt: string,
  revision: number | undefined,
  now: number,
): RolloutStatus {
  const next = withCluster(status, name, (cluster) => {
    if (cluster.state !== 'RollingBack' || cluster.attempt !== attempt || cluster.restoredAt !== undefined)
      return cluster;
    const rest = without(cluster, 'retryAt', 'message', 'healthySince', 'lastCheckedAt');
    const at = { restoredAt: instantOf(now), failuresInRow: 0 };
    return { ...rest, ...at, ...(revision === undefined ? {} : { revision }) };
  });
  return next === status ? status : withProgress(next, now);
}
