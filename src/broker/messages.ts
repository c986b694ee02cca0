/**
 * What platform and brokers say to each other: CloudEvents 1.0 in JSON. The JSON Schemas in manifests/events say the same for
 * programs in other languages; a test holds both together.
 */

/** The prefix of every type of event. The version at the end changes when the meaning does; additions do not change it. */
const prefix = 'com.company.platform';
export const REQUEST_TYPE = `${prefix}.deployment.requested.v1`;
export const STATUS_TYPE = `${prefix}.deployment.status.v1`;
export const HEARTBEAT_TYPE = `${prefix}.broker.heartbeat.v1`;
export const USAGE_TYPE = `${prefix}.usage.reported.v1`;

/** Structured mode: the whole event is one JSON document, the same bytes on Kafka and over HTTP. */
export interface CloudEvent<Type extends string, Data> {
  readonly specversion: '1.0';
  /** Unique with `source`: what was seen before has no effect. */
  readonly id: string;
  /** Who says it: `/kidp` for the platform, `/brokers/NAME` for a broker. */
  readonly source: string;
  readonly type: Type;
  /** What it is about: `databases/team-backend/users`; of a heartbeat the name of the broker. */
  readonly subject: string;
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly dataschema?: string;
  /** W3C trace context, from the apply to the report and back. */
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** The same on everything that follows from one dispatch, in logs too. */
  readonly correlationid?: string;
  readonly data: Data;
}

/** The object that a message is about. */
interface ResourceRef {
  readonly apiVersion: string;
  readonly kind: DeployableKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation?: number;
}

export type DeployableKind = 'Database' | 'Service' | 'Cache' | 'Topic' | 'Secret';
export type Action = 'Deploy' | 'Delete' | 'Query';

export interface DeploymentRequest {
  /** `Query`: say (again) how the deployment of this object fares; nothing is changed. */
  readonly action: Action;
  readonly deploymentId: string;
  /** The Broker that is meant. Others leave the message alone. */
  readonly broker: string;
  /**
   * Brokers that this one has taken the object over from, the last at the end. What they made for it is now this one's: to go on with, and
   * to remove. Whoever cannot see whether they have made something must fail, and neither make it anew nor say that it is gone.
   */
  readonly formerBrokers?: readonly string[];
  readonly resource: ResourceRef;
  /** Of the object. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The namespace of the team that owns it. */
  readonly team?: string;
  readonly target: {
    readonly name: string;
    readonly provider: string;
    readonly region?: string;
    readonly environment?: string;
    readonly parameters?: Readonly<Record<string, string>>;
  };
  /** Of the object, with defaults; only with `Deploy`. */
  readonly spec?: Readonly<Record<string, unknown>>;
  /** What it uses, each with its connection. */
  readonly bindings?: readonly BoundConnection[];
  /** Those of its owners and its own, to be put on everything that is made. */
  readonly costTags?: Readonly<Record<string, string>>;
  readonly replyTo: ReplyTo;
}

/** By reference: a Kubernetes Secret of the management cluster; where the broker has an encryption key, also as JWE (compact). */
export interface BoundConnection {
  readonly kind: DeployableKind;
  readonly namespace: string;
  readonly name: string;
  readonly secret?: { readonly namespace: string; readonly name: string; readonly revision: string };
  readonly credentials?: string;
}

export interface ReplyTo {
  readonly statusTopic?: string;
  /** `POST` events here. */
  readonly statusUrl?: string;
  /** A public JSON Web Key (`use: enc`): credentials are encrypted to it. */
  readonly encryptionKey?: Readonly<Record<string, unknown>>;
}

/**
 * `accepted`: will be done. `deploying`: under way. `ready`, `failed`: how it ended (`failed` has an error). `drifted`: it was ready
 * and is no longer what was asked for. `deleted`: it is gone. `absent`: asked about something that the broker knows nothing of.
 */
export type ReportedPhase = 'accepted' | 'deploying' | 'ready' | 'failed' | 'drifted' | 'deleted' | 'absent';

/** `transient`: may heal when tried again. `permanent`: only another spec will do. `quota`: somebody has to make room. */
export type ErrorClass = 'transient' | 'permanent' | 'quota';

export interface StatusReport {
  readonly broker: string;
  readonly deploymentId: string;
  readonly resource: Omit<ResourceRef, 'generation'>;
  /** Rises with each report of one deployment: an older one changes nothing. */
  readonly sequence: number;
  readonly phase: ReportedPhase;
  readonly message?: string;
  readonly error?: { readonly class: ErrorClass; readonly code: string; readonly message: string };
  /** Addresses and the like; never credentials. */
  readonly outputs?: Readonly<Record<string, string>>;
  /** Of a Service. */
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly selector?: string;
  readonly url?: string;
  readonly credentials?: ReportedCredentials;
}

/** On a Kubernetes Secret that a broker refers to: the uid of the object that it was made for. Without it the reference is not followed. */
export const RESOURCE_UID_LABEL = 'broker.platform.company.com/resource-uid';

/**
 * Encrypted to `replyTo.encryptionKey` (a JWE in compact form of a JSON object of texts), or a Secret of the management cluster in the
 * namespace of the object, with the label `RESOURCE_UID_LABEL`.
 */
export type ReportedCredentials =
  | { readonly revision: string; readonly jwe: string }
  | { readonly revision: string; readonly secretRef: { readonly namespace: string; readonly name: string } };

export interface Heartbeat {
  readonly broker: string;
  readonly version: string;
  readonly capabilities: readonly string[];
}

/** What an object has cost from the beginning of a month up to `asOf`: a later report replaces an earlier one, so that replay adds nothing. */
export interface UsageReport {
  readonly broker: string;
  readonly resource: Omit<ResourceRef, 'generation'>;
  /** `2026-01`. */
  readonly month: string;
  readonly currency: string;
  /** Month to date, a decimal number as text. */
  readonly amount: string;
  readonly asOf: string;
  /** Nothing more comes of this broker: the object is gone, or another broker has it now. */
  readonly final?: boolean;
}

export type RequestEvent = CloudEvent<typeof REQUEST_TYPE, DeploymentRequest>;
export type StatusEvent = CloudEvent<typeof STATUS_TYPE, StatusReport>;
export type HeartbeatEvent = CloudEvent<typeof HEARTBEAT_TYPE, Heartbeat>;
export type UsageEvent = CloudEvent<typeof USAGE_TYPE, UsageReport>;
export type BrokerEvent = StatusEvent | HeartbeatEvent | UsageEvent;
