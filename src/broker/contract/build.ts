/** Builds events that conform to their schema: id, source and subject follow from the data. */
import { childTraceparent } from '../../runtime/internal.ts';
import {
  type CloudEvent,
  type DeployableKind,
  type DeploymentRequest,
  HEARTBEAT_TYPE,
  type Heartbeat,
  type HeartbeatEvent,
  REQUEST_TYPE,
  type RequestEvent,
  STATUS_TYPE,
  type StatusEvent,
  type StatusReport,
  USAGE_TYPE,
  type UsageEvent,
  type UsageReport,
} from '../messages.ts';

/** The event that caused this one. Its trace is continued. */
interface EventCause {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly correlationid?: string | undefined;
}

interface EventOptions {
  /** Default: now. */
  readonly time?: Date;
  readonly cause?: EventCause | undefined;
}

/** Builds a request. `query` is the number of the query: each `Query` of a deployment is a message of its own. */
export function requestEvent(
  data: DeploymentRequest,
  options: EventOptions & { readonly query?: number } = {},
): RequestEvent {
  const { query } = options;
  const id = `${data.deploymentId}/${data.action}${data.action === 'Query' && query !== undefined ? `/${query}` : ''}`;
  const subject = subjectOfResource(data.resource);
  return event(REQUEST_TYPE, { id, source: '/kidp', subject, data }, options);
}

/**
 * Builds a report; the cause is the request that it reports on. The same report has the same id, however often it is
 * sent.
 */
export function statusEvent(data: StatusReport, options: EventOptions = {}): StatusEvent {
  const id = `${data.deploymentId}/${data.sequence}`;
  const subject = subjectOfResource(data.resource);
  return event(STATUS_TYPE, { id, source: sourceOf(data.broker), subject, data }, options);
}

export function heartbeatEvent(data: Heartbeat, options: EventOptions = {}): HeartbeatEvent {
  const time = options.time ?? new Date();
  const id = `heartbeat/${time.toISOString()}`;
  const subject = data.broker;
  return event(HEARTBEAT_TYPE, { id, source: sourceOf(data.broker), subject, data }, { ...options, time });
}

export function usageEvent(data: UsageReport, options: EventOptions = {}): UsageEvent {
  const id = `${data.resource.uid}/${data.month}/${data.currency}/${data.asOf}`;
  const subject = subjectOfResource(data.resource);
  return event(USAGE_TYPE, { id, source: sourceOf(data.broker), subject, data }, options);
}

/** Encodes an event as the bytes that are sent and signed. */
export const encodeEvent = (of: CloudEvent<string, unknown>): Buffer => Buffer.from(JSON.stringify(of));

const plurals: Readonly<Record<DeployableKind, string>> = {
  Database: 'databases',
  Service: 'services',
  Cache: 'caches',
  Topic: 'topics',
  Secret: 'secrets',
};

/** The subject of an event about an object: `databases/team-backend/users`. That of a heartbeat is its broker. */
export const subjectOfResource = ({ kind, namespace, name }: StatusReport['resource']): string =>
  `${plurals[kind]}/${namespace}/${name}`;

const sourceOf = (broker: string): string => `/brokers/${broker}`;

type Own<D> = Pick<CloudEvent<string, D>, 'id' | 'source' | 'subject' | 'data'>;

function event<Type extends string, D>(
  type: Type,
  { id, source, subject, data }: Own<D>,
  { time = new Date(), cause = {} }: EventOptions,
): CloudEvent<Type, D> {
  const { traceparent, tracestate, correlationid } = cause;
  return {
    specversion: '1.0',
    id,
    source,
    type,
    subject,
    time: time.toISOString(),
    datacontenttype: 'application/json',
    traceparent: childTraceparent(traceparent),
    ...(tracestate === undefined ? {} : { tracestate }),
    ...(correlationid === undefined ? {} : { correlationid }),
    data,
  };
}
