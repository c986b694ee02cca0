/** The common model of the five deployable kinds: an object, the facts around it, and the next step. */
import type { Service } from '../../api/index.ts';
import type { Action, BrokerAddress, DeployableKind, DeploymentRequest } from '../../broker/index.ts';
import type { KubernetesObject } from '../../runtime/index.ts';

/** The status of a Service has all fields that any of them has. */
export type DeployableStatus = NonNullable<Service['status']>;
export type OutboxEntry = NonNullable<DeployableStatus['outbox']>[number];
export type LastReport = NonNullable<DeployableStatus['lastReport']>;
type OwnerReference = NonNullable<DeployableStatus['owner']>;

export interface Deployable extends KubernetesObject {
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly owner?: OwnerReference;
    readonly targetRef?: { readonly name: string };
    readonly dependencies?: Readonly<Record<string, unknown>>;
    readonly costTags?: Readonly<Record<string, string>>;
    readonly urgent?: boolean;
  };
  readonly status?: DeployableStatus;
}

/** The admission decision for the object as stored. */
export type Admitted =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly reasons: readonly string[] }
  /** Not known yet: the policies are not synced. */
  | { readonly admitted: 'unknown'; readonly reasons: readonly string[] };

/** The result of following `spec.owner`. `none`: there is no owner. */
export interface OwnerFacts {
  readonly end: 'team' | 'none' | 'missing' | 'cycle';
  /** The namespace of the Team at the end. */
  readonly team?: string;
  /** The owner chain, for messages. */
  readonly path: readonly string[];
  /** Merged cost tags; the nearest owner wins. */
  readonly costTags: Readonly<Record<string, string>>;
}

export interface TargetFacts {
  readonly request: DeploymentRequest['target'];
  /** The Broker that the target names now. */
  readonly broker?: string;
  /** The Brokers whose deployments that Broker takes over. */
  readonly takesOver: readonly string[];
}

export interface BrokerFacts {
  readonly address: BrokerAddress;
  readonly paused: boolean;
  /** Undefined if not reported; then every capability is assumed. */
  readonly capabilities?: readonly string[];
  /** Unix milliseconds of the last verified message; undefined if there was none. */
  readonly heardAt?: number;
}

/** All inputs of a decision besides the object itself. */
export interface Facts {
  readonly admission: Admitted;
  readonly owner: OwnerFacts;
  /** Undefined if the object names no DeploymentTarget, or the target does not exist. */
  readonly target: TargetFacts | undefined;
  readonly broker: (name: string) => BrokerFacts | undefined;
  readonly settings: Settings;
}

export interface Settings {
  /** Without an answer for this long, a deployment becomes `unknown` and the broker is queried. */
  readonly answerMilliseconds: number;
  /** The same for a deletion. */
  readonly deletionMilliseconds: number;
  /** The backoff after the first failure of a deployment or a send; it doubles with each further failure. */
  readonly retryMilliseconds: number;
  readonly longestRetryMilliseconds: number;
  /** After being healthy for this long, the backoff is reset. */
  readonly stableMilliseconds: number;
  /**
   * How long an acknowledgement is held back before it is written, in case a report arrives first; five times as long
   * in a burst.
   */
  readonly receiptMilliseconds: number;
}

export const defaultSettings: Settings = {
  answerMilliseconds: 10 * 60_000,
  deletionMilliseconds: 10 * 60_000,
  retryMilliseconds: 1_000,
  longestRetryMilliseconds: 5 * 60_000,
  stableMilliseconds: 10 * 60_000,
  receiptMilliseconds: 3_000,
};

/** An event to record. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: Action | 'Report' | 'Admit';
  readonly note: string;
}

/** The next step, in this order: each part is one write, and the rest is done only if it succeeded. */
export interface Step {
  /**
   * The finalizer must be set before anything is dispatched, and is removed when nothing is left. The rest of the step
   * waits for it.
   */
  readonly finalizer?: 'add' | 'remove';
  /** The desired status; the same object as before if nothing changes. */
  readonly status: DeployableStatus;
  /** Outbox entries of that status to send now. */
  readonly send: readonly OutboxEntry[];
  /** Unix milliseconds of the next reconcile, even if nothing changes. */
  readonly wakeAt?: number;
  readonly notes: readonly Note[];
  /** Why a new deployment was decided, for logs and metrics. */
  readonly cause?: Cause;
}

/**
 * The cause of a new deployment. `take-over`: another broker takes over. `lost`: the broker does not know it.
 * `deletion`: the object is being deleted.
 */
export type Cause =
  | 'first'
  | 'generation'
  | 'retry'
  | 'bindings'
  | 'take-over'
  | 'drift'
  | 'lost'
  | 'transient'
  | 'deletion';

export const kindOf = (object: KubernetesObject): DeployableKind => object.kind as DeployableKind;
