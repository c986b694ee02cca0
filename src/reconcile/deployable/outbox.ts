/** What becomes of a message in the outbox once it was sent, or was not. Values from values; who writes them swaps and compares. */
import type { ChannelError, ChannelName } from '../../broker/index.ts';
import { parseDeploymentId } from '../../broker/index.ts';
import { backoff, instantOf } from './backoff.ts';
import type { Deployable, DeployableStatus, OutboxEntry, Settings } from './deployable.ts';
import { currentReport, describeStatus } from './describe.ts';

/** It has arrived. The same status where that is no news: a report may have told it before, or another deployment overtaken it. */
export function acknowledged(object: Deployable, id: string, now: number): DeployableStatus {
  const { status = {} } = object;
  const entry = status.outbox?.find((each) => each.id === id);
  if (entry === undefined) return status;
  return describeStatus(object, received(status, entry, now), now);
}

/** Without the entry, and with what follows from its having arrived. */
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

/** It has perhaps not arrived: it stays, with what went wrong and when it is sent again. */
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

/** What was refused will be refused again, unless somebody puts it right: that need not be found out at once. */
function waitAfter(error: ChannelError | Error, attempts: number, id: string, settings: Settings): number {
  const refused = 'failure' in error && error.failure === 'refused';
  const asked = 'retryAfterMilliseconds' in error ? (error.retryAfterMilliseconds ?? 0) : 0;
  return Math.max(backoff(refused ? attempts + 6 : attempts, id, settings), asked);
}

const channelOf = (error: ChannelError | Error): { channel?: ChannelName } =>
  'channel' in error ? { channel: error.channel } : {};
