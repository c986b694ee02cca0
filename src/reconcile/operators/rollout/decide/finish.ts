/** Ends a rollout, and records its progress. */
import { millisecondsOf } from '../../../../api/index.ts';
import { type Condition, mergeConditions } from '../../../../runtime/index.ts';
import { omit, type Rollout, type RolloutStatus, toMilliseconds, toTimestamp, updateClusters } from '../rollout.ts';

/** The reason and message of the conditions Progressing and Ready. */
export interface ProgressReason {
  readonly reason: string;
  readonly message: string;
}

export const recordProgress = (status: RolloutStatus, now: number): RolloutStatus =>
  status.progressedAt === toTimestamp(now) ? status : { ...status, progressedAt: toTimestamp(now) };

/**
 * Ends a rollout without a rollback once no step is running, or once the running steps have exceeded the progress
 * deadline.
 */
export function stopRollout(object: Rollout, status: RolloutStatus, cause: ProgressReason, now: number): RolloutStatus {
  const isBusy = (status.clusters ?? []).some(({ state }) => state === 'Deploying' || state === 'RollingBack');
  if (isBusy && stopDeadline(object, status) > now) return status;
  return finishRollout(status, 'Failed', cause, now);
}

/**
 * The deadline for running steps: one unreachable cluster must not keep the rollout, and the Leases of all its
 * clusters, forever.
 */
export const stopDeadline = ({ spec }: Rollout, { progressedAt }: RolloutStatus): number =>
  toMilliseconds(progressedAt) + millisecondsOf(spec.progressDeadline ?? 'PT30M');

export function finishRollout(
  status: RolloutStatus,
  phase: 'Completed' | 'Failed',
  { reason, message }: ProgressReason,
  now: number,
): RolloutStatus {
  const at = toTimestamp(now);
  const rest = updateClusters(status, (cluster) =>
    cluster.state === 'Pending'
      ? {
          ...cluster,
          state: 'Skipped' as const,
          finishedAt: at,
          message: cluster.message ?? 'not started before the rollout ended',
        }
      : cluster,
  );
  const { conditions } = mergeConditions(
    status.conditions as Condition[] | undefined,
    [
      { type: 'Progressing', status: 'False', reason, message },
      { type: 'Ready', status: phase === 'Completed' ? 'True' : 'False', reason, message },
    ],
    new Date(now),
  );
  return { ...omit(rest, 'heldSince'), phase, finishedAt: at, progressedAt: at, conditions };
}
