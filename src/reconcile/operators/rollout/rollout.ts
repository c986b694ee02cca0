/** The types of a rollout: its status, the facts that a decision needs, and the step that it returns. */
import type {
  ApprovalOutcome,
  Environment,
  OperatorDeployment,
  RolloutClusterStatus,
  RolloutPhase,
} from '../../../api/index.ts';

export type Rollout = OperatorDeployment;
export type RolloutStatus = NonNullable<Rollout['status']>;
export type ClusterStatus = RolloutClusterStatus;
export type Plan = NonNullable<RolloutStatus['plan']>;
export type RollbackReason = NonNullable<RolloutStatus['rollback']>['reason'];

/** The current state of a Cluster object. */
export interface ClusterFacts {
  readonly uid: string;
  readonly environment: Environment;
  /** The cluster is reachable and not paused. */
  readonly available: boolean;
  /** A user has paused the cluster, so that it is unavailable on purpose. */
  readonly paused?: boolean;
  /** Why it is not available, for users. */
  readonly why?: string;
}

/** Everything that a decision depends on besides the object itself. */
export interface Facts {
  /** Undefined if the Cluster does not exist or is being deleted. */
  readonly cluster: (name: string) => ClusterFacts | undefined;
  /** Undefined if the Approval does not exist or does not match the request. */
  readonly approval: (name: string) => ApprovalOutcome | undefined;
  /**
   * Another OperatorDeployment of the same operator that is being rolled back: nothing new starts until it has
   * finished.
   */
  readonly blockedBy?: string;
  /** The OperatorDeployment that installed the current version on a cluster; undefined if unknown. */
  readonly installedBy: (cluster: string) => string | undefined;
  /** The OperatorDeployment whose rollback restored the current version on a cluster; undefined if there is none. */
  readonly restoredBy: (cluster: string) => string | undefined;
  /** The time of the next try of an action that could not be done yet, in milliseconds since 1970. */
  readonly notBefore: (kind: RolloutAction['kind']) => number;
}

/** An action of the rollout as a whole. */
export type RolloutAction =
  /** Compute the plan: clusters, stages, snapshots and CRD verdicts. */
  | { readonly kind: 'plan' }
  /** Create the missing Approvals. */
  | { readonly kind: 'approvals' }
  /** Acquire a slot and the Leases of all clusters. */
  | { readonly kind: 'start' }
  /** Acquire a slot again after a hold. */
  | { readonly kind: 'resume' }
  /** Acquire the Leases again to roll back a finished rollout. */
  | { readonly kind: 'reopen'; readonly reason: RollbackReason; readonly message: string };

/**
 * An action on one cluster. The status records its `attempt` before it starts, and it is returned until its outcome is
 * recorded.
 */
export interface ClusterAction {
  readonly kind: 'install' | 'switch' | 'check' | 'restore';
  readonly cluster: string;
  readonly attempt: string;
}

export type Action = RolloutAction | ClusterAction;

export const isClusterAction = (act: Action): act is ClusterAction => 'cluster' in act;

/** A change that users see in the events and in the history. */
export interface RolloutEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
  readonly cluster?: string;
}

export interface Step {
  /**
   * The finalizer is added before the rollout starts and removed when it has ended. The rest of the step waits for
   * that.
   */
  readonly finalizer?: 'add' | 'remove';
  /** The desired status, or the same object if nothing changes. It is written before any action starts. */
  readonly status: RolloutStatus;
  readonly actions: readonly Action[];
  /** When to reconcile again even if nothing changes, in milliseconds since 1970. */
  readonly wakeAt?: number;
}

export const phaseOf = ({ phase }: RolloutStatus): RolloutPhase => phase ?? 'Planning';

/** Whether the rollout holds Leases: from its start to its end. */
export const isInProgress = (status: RolloutStatus): boolean =>
  status.startedAt !== undefined && status.finishedAt === undefined;

/**
 * Whether the rollout counts against the maximum of concurrent rollouts. A held rollout with no running step does not.
 */
export const takesSlot = (status: RolloutStatus): boolean => isInProgress(status) && status.heldSince === undefined;

export const isFinished = (status: RolloutStatus): boolean =>
  phaseOf(status) === 'Completed' || phaseOf(status) === 'Failed';

/** Whether this rollout may have changed something on the cluster. */
export const isTouched = ({ state, startedAt }: ClusterStatus): boolean =>
  startedAt !== undefined && state !== 'Pending' && state !== 'Skipped' && state !== 'RolledBack';

/** Whether the new version is deployed and its health is checked. */
export const isMonitored = ({ state }: ClusterStatus): boolean => state === 'Validating' || state === 'Healthy';

export const hasFailed = ({ state }: ClusterStatus): boolean =>
  state === 'Unhealthy' || state === 'RollingBack' || state === 'RolledBack' || state === 'Failed';

/** Identifies one step of a rollout, however often it is retried. It is also a valid Kubernetes label value. */
export const attemptOf = ({ metadata }: Rollout, step: 'install' | 'switch' | 'rollback'): string =>
  `${metadata.uid ?? ''}.${step}`;

export const stepOf = (attempt = ''): string => attempt.slice(attempt.lastIndexOf('.') + 1);

export const toTimestamp = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Milliseconds since 1970; 0 for a missing time. */
export function toMilliseconds(instant: string | undefined): number {
  const at = Date.parse(instant ?? '');
  return Number.isNaN(at) ? 0 : at;
}

/** The number of names in a message: a rollout may have a thousand clusters. */
const maxNames = 5;

export function listNames(clusters: readonly { readonly name: string }[]): string {
  const names = clusters.slice(0, maxNames).map(({ name }) => name);
  const others = clusters.length - names.length;
  return others === 0 ? names.join(', ') : `${names.join(', ')} and ${others} others`;
}

/** Returns the status with one cluster changed, or the same object if nothing changes. */
export function updateCluster(
  status: RolloutStatus,
  name: string,
  change: (cluster: ClusterStatus) => ClusterStatus,
): RolloutStatus {
  return updateClusters(status, (cluster) => (cluster.name === name ? change(cluster) : cluster));
}

export function updateClusters(
  status: RolloutStatus,
  change: (cluster: ClusterStatus) => ClusterStatus,
): RolloutStatus {
  const before = status.clusters ?? [];
  const clusters = before.map(change);
  return clusters.every((cluster, index) => cluster === before[index]) ? status : { ...status, clusters };
}

/** Returns a copy without these fields. */
export function omit<T extends object, K extends keyof T>(value: T, ...fields: readonly K[]): Omit<T, K> {
  const rest = { ...value };
  for (const field of fields) delete rest[field];
  return rest;
}
