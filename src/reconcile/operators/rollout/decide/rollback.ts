/** Rollback: of every changed cluster, or of a single failed one. */
import { millisecondsOf } from '../../../../api/index.ts';
import {
  attemptOf,
  type ClusterStatus,
  isTouched,
  listNames,
  type RollbackReason,
  type Rollout,
  type RolloutStatus,
  toMilliseconds,
  toTimestamp,
  updateClusters,
} from '../rollout.ts';
import { finishRollout } from './finish.ts';

export function startRollback(
  object: Rollout,
  status: RolloutStatus,
  reason: RollbackReason,
  message: string,
  now: number,
): RolloutStatus {
  const at = toTimestamp(now);
  const { finishedAt, heldSince, ...rest } = status;
  const clusters = updateClusters(rest, (cluster) => {
    if (cluster.state === 'Pending') {
      return { ...cluster, state: 'Skipped' as const, finishedAt: at, message: 'not started before the rollback' };
    }
    if (!isTouched(cluster) || cluster.state === 'RollingBack') return cluster;
    return startClusterRollback(object, cluster, now);
  });
  const startClusters: RolloutStatus = {
    ...clusters,
    phase: 'RollingBack',
    rollback: { reason, message, startedAt: at },
    progressedAt: at,
  };
  return settleRollback(object, startClusters, now);
}

export function startClusterRollback(object: Rollout, cluster: ClusterStatus, now: number): ClusterStatus {
  const { restoredAt, retryAt, healthySince, lastCheckedAt, finishedAt, refusals, ...rest } = cluster;
  // Nothing was changed yet: the previous release is recorded before the first change.
  if (cluster.preparedAt === undefined) return { ...rest, state: 'RolledBack', finishedAt: toTimestamp(now) };
  return { ...rest, state: 'RollingBack', attempt: attemptOf(object, 'rollback'), failuresInRow: 0 };
}

/**
 * A cluster is rolled back once the restored version is healthy. If it stays unhealthy, the rollback of that cluster
 * has failed.
 */
export function settleClusterRollback({ spec }: Rollout, cluster: ClusterStatus, now: number): ClusterStatus {
  if (cluster.state !== 'RollingBack' || cluster.restoredAt === undefined) return cluster;
  const finishedAt = toTimestamp(now);
  if (cluster.healthySince !== undefined || cluster.snapshotBefore === undefined) {
    const message =
      cluster.snapshotBefore === undefined
        ? 'removed; nothing was installed before'
        : `restored to ${cluster.fromVersion ?? 'the previous release'}`;
    return { ...cluster, state: 'RolledBack', finishedAt, message };
  }
  if ((cluster.failuresInRow ?? 0) < (spec.health?.failureThreshold ?? 3)) return cluster;
  const message = `restored to ${cluster.fromVersion ?? 'the previous release'}, but unhealthy: ${cluster.message ?? ''}`;
  return { ...cluster, state: 'Failed', finishedAt, message };
}

/** Ends the rollout once every changed cluster is rolled back or has failed. */
export function settleRollback(object: Rollout, before: RolloutStatus, now: number): RolloutStatus {
  const { rollback } = before;
  if (rollback === undefined) return before;
  const isLate = rollbackDeadline(object, before) <= now;
  const status = updateClusters(before, (cluster) => {
    const settled = settleClusterRollback(object, cluster, now);
    if (settled.state !== 'RollingBack' || !isLate) return settled;
    const message = `rollback timed out: ${settled.message ?? 'no response'}`;
    return { ...settled, state: 'Failed' as const, finishedAt: toTimestamp(now), message };
  });
  const { clusters = [] } = status;
  if (clusters.some(({ state }) => state === 'RollingBack')) return status;
  const failed = clusters.filter(({ state }) => state === 'Failed');
  const message = `${rollbackSummary(clusters)}. Cause: ${rollback.message ?? rollback.reason}`;
  const reason = failed.length === 0 ? 'RolledBack' : 'RollbackFailed';
  const done = { ...status, rollback: { ...rollback, finishedAt: toTimestamp(now) } };
  return finishRollout(done, 'Failed', { reason, message }, now);
}

/** Says what the rollback achieved, and which clusters need manual repair. */
function rollbackSummary(clusters: readonly ClusterStatus[]): string {
  const failed = clusters.filter(({ state }) => state === 'Failed');
  const restored = clusters.filter(({ state }) => state === 'RolledBack');
  const noun = (some: readonly ClusterStatus[]) => (some.length === 1 ? 'cluster' : 'clusters');
  const outcomes = new Set(
    restored.map(({ restoredAt, message = 'restored' }) => (restoredAt === undefined ? 'left unchanged' : message)),
  );
  const outcome = outcomes.size === 1 ? [...outcomes][0] : 'restored to their previous versions';
  return [
    ...(failed.length === 0 ? [] : [`rollback failed on ${noun(failed)} ${listNames(failed)}, repair manually`]),
    ...(restored.length === 0 ? [] : [`${noun(restored)} ${listNames(restored)} ${outcome}`]),
    ...(failed.length + restored.length === 0 ? ['no cluster had to be restored'] : []),
  ].join('; ');
}

/**
 * Gives up clusters that are rolled back on their own and have exceeded the deadline, if the rollout waits for nothing
 * else. No more of them have failed than spec.maxFailures allows, so the others continue. Otherwise returns the same
 * status.
 */
export function giveUpRestores(status: RolloutStatus, counted: readonly ClusterStatus[], now: number): RolloutStatus {
  const open = counted.filter(({ state }) => state !== 'Healthy');
  if (open.length === 0 || open.some(({ state }) => state !== 'RollingBack')) return status;
  return updateClusters(status, (cluster) => {
    if (!open.includes(cluster)) return cluster;
    const message = `rollback timed out: ${cluster.message ?? 'no response'}`;
    return { ...cluster, state: 'Failed' as const, finishedAt: toTimestamp(now), message };
  });
}

/**
 * A progress deadline that suits a quick rollout may be too short for its rollback, which must not be given up early.
 */
const minimumMilliseconds = 60_000;

/** The time by which the rollback must have made progress. */
export const rollbackDeadline = ({ spec }: Rollout, { progressedAt }: RolloutStatus): number =>
  toMilliseconds(progressedAt) + Math.max(minimumMilliseconds, millisecondsOf(spec.progressDeadline ?? 'PT30M'));
