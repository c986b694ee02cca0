/**
 * Times that lie ahead. Another manager has written them, by a clock that was ahead of ours, or ours was set back. What happened has
 * happened by now at the latest; waiting for a clock would hold a rollout up for as long, and what was seen "later" would count for nothing.
 */
import { type ClusterStatus, instantOf, type RolloutStatus, timeOf, withClusters, without } from '../rollout.ts';

/** No step waits longer than this before it is taken again. */
export const longestRetryMilliseconds = 60_000;

const ofStatus = [
  'startedAt',
  'stageStartedAt',
  'stageDeployedAt',
  'stageFinishedAt',
  'progressedAt',
  'heldSince',
] as const;
const ofCluster = ['startedAt', 'preparedAt', 'deployedAt', 'switchedAt', 'restoredAt', 'finishedAt'] as const;
/** What was seen then is not believed: it is looked at again. */
const seenAt = ['healthySince', 'lastCheckedAt'] as const;

/** The same status with no such time in it; the very same where there is none. */
export function withoutFuture(before: RolloutStatus, now: number): RolloutStatus {
  const at = instantOf(now);
  const isAhead = (instant: string | undefined, by = 0): boolean =>
    // Nearly always the first says no, without reading a date.
    instant !== undefined && instant.slice(0, 19) >= at.slice(0, 19) && timeOf(instant) > now + by;
  const clamped = <T extends object, K extends keyof T>(value: T, fields: readonly K[]): T => {
    const ahead = fields.filter((field) => isAhead(value[field] as string | undefined));
    return ahead.length === 0 ? value : { ...value, ...Object.fromEntries(ahead.map((field) => [field, at])) };
  };
  const status = clamped(
    withClusters(before, (cluster): ClusterStatus => {
      const known = clamped(cluster, ofCluster);
      const isSeenAhead = seenAt.some((field) => isAhead(known[field]));
      const seen = isSeenAhead ? without(known, ...seenAt) : known;
      return isAhead(seen.retryAt, longestRetryMilliseconds) ? { ...seen, retryAt: at } : seen;
    }),
    ofStatus,
  );
  const { rollback } = status;
  if (rollback === undefined || !isAhead(rollback.startedAt)) return status;
  return { ...status, rollback: { ...rollback, startedAt: at } };
}
