/**
 * The messages between platform and brokers: CloudEvents 1.0 in JSON. The JSON Schemas in manifests/events describe the
 * same messages for other languages; a test keeps both in sync.
 */

/**
 * The prefix of every event type. The version suffix changes with the meaning of an event; additional fields do not
 * change it.
 */
const prefix = 'com.company.platform';
export const REQUEST_TYPE = `${prefix}.deployment.requested.v1`;
export const STATUS_TYPE = `${prefix}.deployment.status.v1`;
export const HEARTBEAT_TYPE = `${prefix}.broker.heartbeat.v1`;
export const USAGE_TYPE = `${prefix}.usage.reported.v1`;

/** An event in structured mode: the whole event is one JSON document, with the same bytes on Kafka and over HTTP. */
export interface CloudEvent<Type extends string, Data> {
  readonly specversion: '1.0';
  /** Unique together with `source`: a repeated event has no effect. */
  readonly id: string;
  /** The sender: `/kidp` for the platform, `/brokers/NAME` for a broker. */
  readonly source: string;
  readonly type: Type;
  /** The object of the event, such as `databases/team-backend/users`; for a heartbeat, the name of the broker. */
  readonly subject: string;
  /** The time of the event as RFC 3339 in UTC. */
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly dataschema?: string;
  /** W3C trace context, continued from the apply to the report and back. */
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** The same value on all messages and log lines that follow from one dispatch. */
  readonly correlationid?: string;
  readonly data: Data;
}

/** The object of a message. */
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
  /** `Query` asks for the current state of the deployment, and changes nothing. */
  readonly action: Action;
  readonly deploymentId: string;
  /** The addressed Broker. Other brokers ignore the message. */
  readonly broker: string;
  /**
   * Former brokers of the object, the most recent last. Everything that they created for the object now belongs to the
   * addressed broker, which updates and removes it. A broker that cannot see what they created must report `failed`: it
   * must neither create it again nor report it as deleted.
   */
  readonly formerBrokers?: readonly string[];
  readonly resource: ResourceRef;
  /** The labels of the object. */
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
  /** The spec of the object with defaults; set for `Deploy` only. */
  readonly spec?: Readonly<Record<string, unknown>>;
  /** The resources that the object uses, each with its connection. */
  readonly bindings?: readonly BoundConnection[];
  /** Cost tags of the object and its owners, to be attached to everything that is created. */
  readonly costTags?: Readonly<Record<string, string>>;
  readonly replyTo: ReplyTo;
}

/**
 * A connection by reference to a Kubernetes Secret of the management cluster. If the broker has an encryption key, the
 * credentials are also included as a JWE in compact form.
 */
export interface BoundConnection {
  readonly kind: DeployableKind;
  readonly namespace: string;
  readonly name: string;
  readonly secret?: { readonly namespace: string; readonly name: string; readonly revision: string };
  readonly credentials?: string;
}

export interface ReplyTo {
  readonly statusTopic?: string;
  /** The URL to `POST` events to. */
  readonly statusUrl?: string;
  /** The public JSON Web Key (`use: enc`) that credentials are encrypted to. */
  readonly encryptionKey?: Readonly<Record<string, unknown>>;
}

/**
 * The phase of a deployment. `accepted`: will be carried out. `deploying`: in progress. `ready`, `failed`: finished
 * (`failed` has an error). `drifted`: was ready and no longer matches the request. `deleted`: everything is removed.
 * `absent`: the broker does not know the deployment.
 */
export type ReportedPhase = 'accepted' | 'deploying' | 'ready' | 'failed' | 'drifted' | 'deleted' | 'absent';

/**
 * Whether a retry can help. `transient`: a retry may succeed. `permanent`: only another spec can succeed. `quota`: a
 * quota must be raised or usage reduced.
 */
export type ErrorClass = 'transient' | 'permanent' | 'quota';

export interface StatusReport {
  readonly broker: string;
  readonly deploymentId: string;
  readonly resource: Omit<ResourceRef, 'generation'>;
  /** Increases with each report of a deployment: an older report changes nothing. */
  readonly sequence: number;
  readonly phase: ReportedPhase;
  readonly message?: string;
  readonly error?: { readonly class: ErrorClass; readonly code: string; readonly message: string };
  /** Addresses and similar facts; never credentials. */
  readonly outputs?: Readonly<Record<string, string>>;
  /** The replicas of a Service. */
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly selector?: string;
  readonly url?: string;
  readonly credentials?: ReportedCredentials;
}

/**
 * The label of a Kubernetes Secret that a broker refers to. Its value is the uid of the object that the Secret belongs
 * to; references to other Secrets are rejected.
 */
export const RESOURCE_UID_LABEL = 'broker.platform.company.com/resource-uid';

/**
 * Credentials in a report: either encrypted to `replyTo.encryptionKey` (a compact JWE of a JSON object of strings), or
 * a reference to a Secret of the management cluster in the namespace of the object, with the label
 * `RESOURCE_UID_LABEL`.
 */
export type ReportedCredentials =
  | { readonly revision: string; readonly jwe: string }
  | { readonly revision: string; readonly secretRef: { readonly namespace: string; readonly name: string } };

export interface Heartbeat {
  readonly broker: string;
  readonly version: string;
  readonly capabilities: readonly string[];
}

/**
 * The cost of an object from the beginning of a month up to `asOf`. A later report replaces an earlier one, so a replay
 * adds nothing.
 */
export interface UsageReport {
  readonly broker: string;
  readonly resource: Omit<ResourceRef, 'generation'>;
  /** The month, such as `2026-01`. */
  readonly month: string;
  readonly currency: string;
  /** The amount of the month to date, as a decimal number in a string. */
  readonly amount: string;
  readonly asOf: string;
  /** The last report of this broker: the object is deleted, or another broker has taken it over. */
  readonly final?: boolean;
}

export type RequestEvent = CloudEvent<typeof REQUEST_TYPE, DeploymentRequest>;
export type StatusEvent = CloudEvent<typeof STATUS_TYPE, StatusReport>;
export type HeartbeatEvent = CloudEvent<typeof HEARTBEAT_TYPE, Heartbeat>;
export type UsageEvent = CloudEvent<typeof USAGE_TYPE, UsageReport>;
export type BrokerEvent = StatusEvent | HeartbeatEvent | UsageEvent;
