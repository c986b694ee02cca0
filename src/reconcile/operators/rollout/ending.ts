/** How a rollout comes to its end, and what counts as progress on the way there. */
import { type Condition, mergeConditions } from '../../../runtime/index.ts';
import { instantOf, type RolloutStatus, withClusters } from './rollout.ts';

/** Why it ended, or why it does not go on. */
export interface Outlook {
  readonly reason: string;
  readonly message: string;
}

export const withProgress = (status: RolloutStatus, now: number): RolloutStatus =>
  status.progressedAt === instantOf(now) ? status : { ...status, progressedAt: instantOf(now) };

/**
 * Ends it, every cluster left as it is, once nothing is under way on any of them. `atOnce`: what is under way does not come to an end.
 */
export function stopped(
  status: RolloutStatus,
  outlook: Outlook,
  now: number,
  { atOnce = false }: { atOnce?: boolean } = {},
): RolloutStatus {
  const { clusters = [] } = status;
  if (!atOnce && clusters.some(({ state }) => state === 'Deploying' || state === 'RollingBack')) return status;
  return ended(status, 'Failed', outlook, now);
}

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
  return { ...rest, phase, finishedAt: at, progressedAt: at, conditions };
}
