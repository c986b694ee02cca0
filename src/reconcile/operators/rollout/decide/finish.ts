/** How a rollout comes to its end, and what counts as progress on the way there. */
import { millisecondsOf } from '../../../../api/index.ts';
import { type Condition, mergeConditions } from '../../../../runtime/index.ts';
import { instantOf, type Rollout, type RolloutStatus, timeOf, withClusters, without } from '../rollout.ts';

/** Why it ended, or why it does not go on. */
export interface Outlook {
  readonly reason: string;
  readonly message: string;
}

export const withProgress = (status: RolloutStatus, now: number): RolloutStatus =>
  status.progressedAt === instantOf(now) ? status : { ...status, progressedAt: instantOf(now) };

/** Ends it, every cluster left as it is, once nothing is under way on any of them, or what is does not come to an end in time. */
export function stopped(object: Rollout, status: RolloutStatus, outlook: Outlook, now: number): RolloutStatus {
  const isBusy = (status.clusters ?? []).some(({ state }) => state === 'Deploying' || state === 'RollingBack');
  if (isBusy && stopDue(object, status) > now) return status;
  return ended(status, 'Failed', outlook, now);
}

/** So long it waits for what is under way: one cluster that is out of reach must not keep it, and all of its clusters, for ever. */
export const stopDue = ({ spec }: Rollout, { progressedAt }: RolloutStatus): number =>
  timeOf(progressedAt) + millisecondsOf(spec.progressDeadline ?? 'PT30M');

export function ended(
  status: RolloutStatus,
  phase: 'Completed' | 'Failed',
  { reason, message }: Outlook,
  now: number,
): RolloutStatus {
  const at = instantOf(now);
  const rest = withClusters(status, (cluster) =>
    cluster.state === 'Pending'
      ? { ...cluster, state: 'Skipped' as const, finishedAt: at, message: cluster.message ?? 'it had not had its turn' }
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
  return { ...without(rest, 'heldSince'), phase, finishedAt: at, progressedAt: at, conditions };
}
