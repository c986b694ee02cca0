/** What the five deployable kinds have in common, as the core reads it: an object, what surrounds it, and what is to be done next. */
import type { Service } from '../../api/index.ts';
import type { Action, BrokerAddress, DeployableKind, DeploymentRequest } from '../../broker/index.ts';
import type { KubernetesObject } from '../../runtime/index.ts';

/** That of a Service has all that the status of any of them has. */
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

/** What the same decision function as at admission says about the object as it is stored. */
export type Admitted =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly reasons: readonly string[] }
  /** Nobody can say yet: the policies are not read. */
  | { readonly admitted: 'unknown'; readonly reasons: readonly string[] };

/** Whom `spec.owner` leads to. `none`: there is no owner. */
export interface OwnerFacts {
  readonly end: 'team' | 'none' | 'missing' | 'cycle';
  /** The namespace of the Team at the end. */
  readonly team?: string;
  /** Everybody on the way, for people. */
  readonly path: readonly string[];
  /** Of all of them, the nearest counting most. */
  readonly costTags: Readonly<Record<string, string>>;
}

export interface TargetFacts {
  readonly request: DeploymentRequest['target'];
  /** The Broker that it names today. */
  readonly broker?: string;
  /** Whose deployments that Broker takes over. */
  readonly takesOver: readonly string[];
}

export interface BrokerFacts {
  readonly address: BrokerAddress;
  readonly paused: boolean;
  /** Undefined: nobody has said, and it is taken to be able. */
  readonly capabilities?: readonly string[];
  /** Milliseconds since 1970: when it was last heard of, and believed. Undefined: never. */
  readonly heardAt?: number;
}

/** All that a decision may look at besides the object itself. */
export interface Facts {
  readonly admission: Admitted;
  readonly owner: OwnerFacts;
  /** Undefined: there is no DeploymentTarget of that name, or the object names none. */
  readonly target: TargetFacts | undefined;
  readonly broker: (name: string) => BrokerFacts | undefined;
  readonly settings: Settings;
}

export interface Settings {
  /** Without an answer for so long a deployment is `unknown`, and the broker is asked. */
  readonly answerMilliseconds: number;
  /** Likewise a deletion. */
  readonly deletionMilliseconds: number;
  /** The wait after the first failure of a deployment, or of a send; it doubles with each further one. */
  readonly retryMilliseconds: number;
  readonly longestRetryMilliseconds: number;
  /** What was well for so long begins anew with the shortest wait. */
  readonly stableMilliseconds: number;
  /** So long after a message has arrived that is written down, where no report has told it before; in a burst, five times as long. */
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

/** Something to tell people of. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: Action | 'Report' | 'Admit';
  readonly note: string;
}

/** What to do next, in this order: each is one write, and what follows is done only where it succeeded. */
export interface Step {
  /** Before anything is dispatched it must be on; it comes off only when nothing is left. The rest of the step waits. */
  readonly finalizer?: 'add' | 'remove';
  /** As it shall be; the same object as before where nothing changes. */
  readonly status: DeployableStatus;
  /** Entries of the outbox of that status, to be sent now. */
  readonly send: readonly OutboxEntry[];
  /** Milliseconds since 1970: retry then, even if nothing changes. */
  readonly wakeAt?: number;
  readonly notes: readonly Note[];
  /** Why a new deployment was decided on, for logs and metrics. */
  readonly cause?: Cause;
}

/**
 * Why there is to be another deployment. `take-over`: another broker has it from now on. `lost`: the broker knows nothing of it.
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
