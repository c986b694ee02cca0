/**
 * The fate of an outbox message after a send attempt, as pure functions; callers write the result by compare-and-swap.
 */
import type { ChannelError, ChannelName } from '../../broker/index.ts';
import { parseDeploymentId } from '../../broker/index.ts';
import { backoff, instantOf } from './backoff.ts';
import type { Deployable, DeployableStatus, OutboxEntry, Settings } from './deployable.ts';
import { currentReport, describeStatus } from './describe.ts';

/**
 * `acknowledged` removes an acknowledged entry. It returns the same status if a report or a newer deployment already
 * did that.
 */
export function acknowledged(object: Deployable, id: string, now: number): DeployableStatus {
  const { status = {} } = object;
  const entry = status.outbox?.find((each) => each.id === id);
  if (entry === undefined) return status;
  return describeStatus(object, received(status, entry, now), now);
}

/** `received` removes the entry and updates the fields that depend on it. */
export function received(status: DeployableStatus, entry: OutboxEntry, now: number): DeployableStatus {
  const outbox = (status.outbox ?? []).filter((each) => each.id !== entry.id);
  if (entry.action === 'Query') return { ...status, outbox };
  const generation = parseDeploymentId(entry.deploymentId)?.generation;
  const isOver = currentReport(status) !== undefined;
  return {
    ...status,
    outbox,
    ...(generation === undefined || entry.action === 'Delete' ? {} : { dispatchedGeneration: generation }),
    ...(isOver ? {} : { awaiting: { since: instantOf(now), queries: status.awaiting?.queries ?? 0 } }),
  };
}

/** `notAcknowledged` keeps the entry, with the error and the time of the next attempt. */
export function notAcknowledged(
  object: Deployable,
  id: string,
  failure: { readonly error: ChannelError | Error; readonly now: number; readonly settings: Settings },
): DeployableStatus {
  const { error, now, settings } = failure;
  const { status = {} } = object;
  const outbox = (status.outbox ?? []).map((entry) => {
    if (entry.id !== id) return entry;
    const attempts = (entry.attempts ?? 0) + 1;
    const wait = waitAfter(error, attempts, id, settings);
    return {
      ...entry,
      attempts,
      lastAttemptAt: instantOf(now),
      nextAttemptAt: instantOf(now + wait),
      ...channelOf(error),
      error: error.message.slice(0, 1024),
    };
  });
  if (!outbox.some((entry) => entry.id === id)) return status;
  return describeStatus(object, { ...status, outbox }, now);
}

/** A rejected message will be rejected again until a user fixes the cause, so its backoff is long. */
function waitAfter(error: ChannelError | Error, attempts: number, id: string, settings: Settings): number {
  const refused = 'failure' in error && error.failure === 'refused';
  const asked = 'retryAfterMilliseconds' in error ? (error.retryAfterMilliseconds ?? 0) : 0;
  return Math.max(backoff(refused ? attempts + 6 : attempts, id, settings), asked);
}

const channelOf = (error: ChannelError | Error): { channel?: ChannelName } =>
  'channel' in error ? { channel: error.channel } : {};
