/** Events, made so that they pass their own schema: the identity, the source and the subject follow from the data. */
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

/** What an event follows from: another event will do. Its trace goes on. */
interface EventCause {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly correlationid?: string | undefined;
}

interface EventOptions {
  /** Now, where it is left out. */
  readonly time?: Date;
  readonly cause?: EventCause | undefined;
}

/** `query`: the number of the question, since each `Query` of one deployment is a message of its own. */
export function requestEvent(
  data: DeploymentRequest,
  options: EventOptions & { readonly query?: number } = {},
): RequestEvent {
  const { query } = options;
  const id = `${data.deploymentId}/${data.action}${data.action === 'Query' && query !== undefined ? `/${query}` : ''}`;
  return event(REQUEST_TYPE, id, '/kidp', data, options);
}

/** The cause is the request that it reports on. The same report has the same identity, however often it is sent. */
export function statusEvent(data: StatusReport, options: EventOptions = {}): StatusEvent {
  return event(STATUS_TYPE, `${data.deploymentId}/${data.sequence}`, sourceOf(data.broker), data, options);
}

export function heartbeatEvent(data: Heartbeat, options: EventOptions = {}): HeartbeatEvent {
  const time = options.time ?? new Date();
  return event(HEARTBEAT_TYPE, `heartbeat/${time.toISOString()}`, sourceOf(data.broker), data, { ...options, time });
}

export function usageEvent(data: UsageReport, options: EventOptions = {}): UsageEvent {
  const id = `${data.resource.uid}/${data.month}/${data.currency}/${data.asOf}`;
  return event(USAGE_TYPE, id, sourceOf(data.broker), data, options);
}

/** The bytes that are sent, and that a signature is over. */
export const encodeEvent = (of: CloudEvent<string, unknown>): Buffer => Buffer.from(JSON.stringify(of));

const plurals: Readonly<Record<DeployableKind, string>> = {
  Database: 'databases',
  Service: 'services',
  Cache: 'caches',
  Topic: 'topics',
  Secret: 'secrets',
};

type Data = DeploymentRequest | StatusReport | Heartbeat | UsageReport;

/** `databases/team-backend/users`; of a heartbeat the name of the broker. */
export function subjectOf(data: Data): string {
  if (!('resource' in data)) return data.broker;
  const { kind, namespace, name } = data.resource;
  return `${plurals[kind]}/${namespace}/${name}`;
}

const sourceOf = (broker: string): string => `/brokers/${broker}`;

function event<Type extends string, D extends Data>(
  type: Type,
  id: string,
  source: string,
  data: D,
  { time = new Date(), cause = {} }: EventOptions,
): CloudEvent<Type, D> {
  const { traceparent, tracestate, correlationid } = cause;
  return {
    specversion: '1.0',
    id,
    source,
    type,
    subject: subjectOf(data),
    time: time.toISOString(),
    datacontenttype: 'application/json',
    traceparent: childTraceparent(traceparent),
    ...(tracestate === undefined ? {} : { tracestate }),
    ...(correlationid === undefined ? {} : { correlationid }),
    data,
  };
}
