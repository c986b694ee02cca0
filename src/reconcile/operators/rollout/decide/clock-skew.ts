/**
 * Corrects times in the future. They were written by a manager whose clock was ahead, or the clock of this one was set
 * back. A recorded event has happened by now at the latest. Waiting for the clock to catch up would delay the rollout,
 * and later health checks would not count.
 */
import {
  type ClusterStatus,
  omit,
  type RolloutStatus,
  toMilliseconds,
  toTimestamp,
  updateClusters,
} from '../rollout.ts';

/** The maximum delay before a failed step is retried. */
export const maxRetryMilliseconds = 60_000;

const statusTimes = [
  'startedAt',
  'stageStartedAt',
  'stageDeployedAt',
  'stageFinishedAt',
  'progressedAt',
  'heldSince',
] as const;
const clusterTimes = ['startedAt', 'preparedAt', 'deployedAt', 'switchedAt', 'restoredAt', 'finishedAt'] as const;
/** The results of health checks with such a time are dropped, and the check is repeated. */
const checkTimes = ['healthySince', 'lastCheckedAt'] as const;

/** Returns the status without times in the future, or the same object if there are none. */
export function clampFutureTimes(before: RolloutStatus, now: number): RolloutStatus {
  const at = toTimestamp(now);
  const isAhead = (instant: string | undefined, by = 0): boolean =>
    // Comparing the text first avoids parsing the date in nearly all cases.
    instant !== undefined && instant.slice(0, 19) >= at.slice(0, 19) && toMilliseconds(instant) > now + by;
  const clamped = <T extends object, K extends keyof T>(value: T, fields: readonly K[]): T => {
    const ahead = fields.filter((field) => isAhead(value[field] as string | undefined));
    return ahead.length === 0 ? value : { ...value, ...Object.fromEntries(ahead.map((field) => [field, at])) };
  };
  const status = clamped(
    updateClusters(before, (cluster): ClusterStatus => {
      const known = clamped(cluster, clusterTimes);
      const isCheckAhead = checkTimes.some((field) => isAhead(known[field]));
      const seen = isCheckAhead ? omit(known, ...checkTimes) : known;
      return isAhead(seen.retryAt, maxRetryMilliseconds) ? { ...seen, retryAt: at } : seen;
    }),
    statusTimes,
  );
  const { rollback } = status;
  if (rollback === undefined || !isAhead(rollback.startedAt)) return status;
  return { ...status, rollback: { ...rollback, startedAt: at } };
}
