/**
 * Records broker heartbeats in the status of the Broker.
 *
 * Any replica records them; the Broker controller derives the conditions. An unchanged healthy broker is written only
 * often enough to stay within its timeout.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Broker, broker } from '../../api/index.ts';
import type { HeartbeatEvent, ReportOutcome, VerifiedBroker } from '../../broker/index.ts';
import { type Client, type Clock, isConflict, isNotFound } from '../../runtime/index.ts';
import type { Lookup } from './lookup.ts';

interface HeartbeatParts {
  readonly client: Client;
  readonly lookup: Lookup;
  readonly clock: Clock;
}

const fieldManager = 'kidp-heartbeats';
const mostTries = 5;

export async function recordHeartbeat(
  event: HeartbeatEvent,
  from: VerifiedBroker,
  { client, lookup, clock }: HeartbeatParts,
  signal?: AbortSignal,
): Promise<ReportOutcome> {
  const { name } = from;
  if (event.data.broker !== name) {
    return {
      result: 'refused',
      code: 'wrong-broker',
      message: `broker ${name} must not report for Broker ${event.data.broker}`,
    };
  }
  let object = await lookup.get<Broker>(broker.resource, { name }, signal);
  for (let tries = 1; ; tries += 1) {
    if (object === undefined)
      return { result: 'refused', code: 'unknown-object', message: `Broker ${name} does not exist` };
    const next = heartbeatStatus(object, event, from, clock.now());
    if (typeof next === 'string') return { result: next };
    try {
      await client.apply(broker.resource, bodyOf(object, next), {
        subresource: 'status',
        fieldManager,
        force: true,
        ...(signal === undefined ? {} : { signal }),
      });
      return { result: 'applied' };
    } catch (error) {
      if (!(isConflict(error) || isNotFound(error)) || tries >= mostTries) throw error;
      object = await lookup.live<Broker>(broker.resource, { name }, signal);
    }
  }
}

type HeartbeatStatus = Pick<
  NonNullable<Broker['status']>,
  'version' | 'capabilities' | 'lastHeartbeatTime' | 'channel'
>;

/**
 * `heartbeatStatus` returns the status fields of a heartbeat. `stale`: the message is old or replayed. `duplicate`:
 * nothing changed and the last recorded heartbeat is recent enough.
 */
export function heartbeatStatus(
  { spec, status }: Broker,
  { data, time }: HeartbeatEvent,
  { channel }: Pick<VerifiedBroker, 'channel'>,
  now: number,
): HeartbeatStatus | 'duplicate' | 'stale' {
  const { intervalSeconds, timeoutSeconds } = spec.heartbeat;
  // A clock that is ahead must not extend the life of a broker.
  const said = Math.min(Date.parse(time), now);
  const last = status?.lastHeartbeatTime === undefined ? undefined : Date.parse(status.lastHeartbeatTime);
  if (Number.isNaN(said) || now - said > timeoutSeconds * 1000) return 'stale';
  if (last !== undefined && said < last) return 'stale';
  const heard = {
    version: data.version.slice(0, 128),
    capabilities: [...new Set(data.capabilities)].filter((each) => capability.test(each)).slice(0, 64),
    channel,
  };
  const known = { version: status?.version, capabilities: status?.capabilities, channel: status?.channel };
  const recent = last !== undefined && said - last < (intervalSeconds * 1000) / 2;
  if (recent && isDeepStrictEqual({ ...known }, heard)) return 'duplicate';
  return { ...heard, lastHeartbeatTime: `${new Date(said).toISOString().slice(0, 19)}Z` } as HeartbeatStatus;
}

/** The pattern of the Broker schema. One unknown capability must not invalidate the whole heartbeat. */
const capability = /^(Database|Service|Cache|Topic|Secret)(\/[a-z0-9][-a-z0-9.]{0,55})?$/;

function bodyOf({ apiVersion, kind, metadata }: Broker, status: HeartbeatStatus) {
  const { name, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    status,
  };
}
