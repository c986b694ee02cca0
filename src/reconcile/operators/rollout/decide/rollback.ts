/** The way back: of every cluster that was touched, or of one that has failed alone. */
import { millisecondsOf } from '../../../../api/index.ts';
import {
  attemptOf,
  type ClusterStatus,
  instantOf,
  isTouched,
  namesOf,
  type RollbackReason,
  type Rollout,
  type RolloutStatus,
  timeOf,
  withClusters,
} from '../rollout.ts';
import { ended } from './finish.ts';

export function beginRollback(
  object: Rollout,
  status: RolloutStatus,
  reason: RollbackReason,
  message: string,
  now: number,
): RolloutStatus {
  const at = instantOf(now);
  const { finishedAt, heldSince, ...rest } = status;
  const clusters = withClusters(rest, (cluster) => {
    if (cluster.state === 'Pending') {
      return { ...cluster, state: 'Skipped' as const, finishedAt: at, message: 'it had not had its turn' };
    }
    if (!isTouched(cluster) || cluster.state === 'RollingBack') return cluster;
    return beginClusterRollback(object, cluster, now);
  });
  const begun: RolloutStatus = {
    ...clusters,
    phase: 'RollingBack',
    rollback: { reason, message, startedAt: at },
    progressedAt: at,
  };
  return rollbackSettled(object, begun, now);
}

export function beginClusterRollback(object: Rollout, cluster: ClusterStatus, now: number): ClusterStatus {
  const { restoredAt, retryAt, healthySince, lastCheckedAt, finishedAt, refusals, ...rest } = cluster;
  // Nothing is changed on a cluster before it is written down what was there.
  if (cluster.preparedAt === undefined) return { ...rest, state: 'RolledBack', finishedAt: instantOf(now) };
  return { ...rest, state: 'RollingBack', attempt: attemptOf(object, 'rollback'), failuresInRow: 0 };
}

/** Done where it is well with what was there before. What does not become well there needs people. */
export function settledRollback({ spec }: Rollout, cluster: ClusterStatus, now: number): ClusterStatus {
  if (cluster.state !== 'RollingBack' || cluster.restoredAt === undefined) return cluster;
  const finishedAt = instantOf(now);
  if (cluster.healthySince !== undefined || cluster.snapshotBefore === undefined) {
    const message =
      cluster.snapshotBefore === undefined
        ? 'it is gone, as before'
        : `${cluster.fromVersion ?? 'what was there'} is back`;
    return { ...cluster, state: 'RolledBack', finishedAt, message };
  }
  if ((cluster.failuresInRow ?? 0) < (spec.health?.failureThreshold ?? 3)) return cluster;
  const message = `what was there before is back, and not well: ${cluster.message ?? ''}`;
  return { ...cluster, state: 'Failed', finishedAt, message };
}

/** Where all that were touched are back, it has come to its end. */
export function rollbackSettled(object: Rollout, before: RolloutStatus, now: number): RolloutStatus {
  const { rollback } = before;
  if (rollback === undefined) return before;
  const isLate = rollbackDue(object, before) <= now;
  const status = withClusters(before, (cluster) => {
    const settled = settledRollback(object, cluster, now);
    if (settled.state !== 'RollingBack' || !isLate) return settled;
    const message = `it could not be taken back in time: ${settled.message ?? 'no answer'}`;
    return { ...settled, state: 'Failed' as const, finishedAt: instantOf(now), message };
  });
  const { clusters = [] } = status;
  if (clusters.some(({ state }) => state === 'RollingBack')) return status;
  const failed = clusters.filter(({ state }) => state === 'Failed');
  const message =
    failed.length === 0
      ? `rolled back: ${rollback.message ?? rollback.reason}`
      : `somebody has to look after ${namesOf(failed)}; rolled back elsewhere: ${rollback.message ?? rollback.reason}`;
  const reason = failed.length === 0 ? 'RolledBack' : 'RollbackFailed';
  const done = { ...status, rollback: { ...rollback, finishedAt: instantOf(now) } };
  return ended(done, 'Failed', { reason, message }, now);
}

/**
 * Where nothing is waited for any more but clusters that are taken back alone, and they are not back in time, people have to look after
 * them: no more have failed than may, and the others go on. Otherwise the very same status.
 */
export function givenUp(status: RolloutStatus, counted: readonly ClusterStatus[], now: number): RolloutStatus {
  const open = counted.filter(({ state }) => state !== 'Healthy');
  if (open.length === 0 || open.some(({ state }) => state !== 'RollingBack')) return status;
  return withClusters(status, (cluster) => {
    if (!open.includes(cluster)) return cluster;
    const message = `it could not be taken back in time: ${cluster.message ?? 'no answer'}`;
    return { ...cluster, state: 'Failed' as const, finishedAt: instantOf(now), message };
  });
}

/** A deadline that fits a quick rollout may be too short for the way back, which nobody may give up lightly. */
const leastMilliseconds = 60_000;

/** When something must have gone forward on the way back. */
export const rollbackDue = ({ spec }: Rollout, { progressedAt }: RolloutStatus): number =>
  timeOf(progressedAt) + Math.max(leastMilliseconds, millisecondsOf(spec.progressDeadline ?? 'PT30M'));
