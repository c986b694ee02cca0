/** One rollout as the core reads it: the object, what surrounds it, and what is to be done next. */
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

/** What the Cluster itself says today. */
export interface ClusterFacts {
  readonly uid: string;
  readonly environment: Environment;
  /** It can be worked on: it is reached, and nobody has paused it. */
  readonly available: boolean;
  /** Somebody has paused it: that it cannot be worked on is no fault of anything. */
  readonly paused?: boolean;
  /** Why not, for people. */
  readonly why?: string;
}

/** All that a decision may look at besides the object itself. */
export interface Facts {
  /** Undefined: there is no such Cluster, or it is being deleted. */
  readonly cluster: (name: string) => ClusterFacts | undefined;
  /** Undefined: it is not there, or not what was asked for. */
  readonly approval: (name: string) => ApprovalOutcome | undefined;
  /** Another OperatorDeployment of the same operator that is being rolled back: until it is done, nothing new is begun. */
  readonly heldBy?: string;
  /** The OperatorDeployment that has put there what is on a cluster now; undefined where nobody knows. */
  readonly installedBy: (cluster: string) => string | undefined;
  /** The OperatorDeployment that was taken back to what is on a cluster now; undefined where none was. */
  readonly restoredBy: (cluster: string) => string | undefined;
  /** What was asked for and could not be had yet is asked for again then: milliseconds since 1970. */
  readonly notBefore: (kind: WholeAct['kind']) => number;
}

/** Something to be done that concerns the rollout as a whole. */
export type WholeAct =
  /** Which clusters, in which stages, with which snapshots and verdicts. */
  | { readonly kind: 'plan' }
  /** See to it that the Approvals are there. */
  | { readonly kind: 'approvals' }
  /** Get one of the places that there are, and every cluster for this rollout alone. */
  | { readonly kind: 'start' }
  /** It was held, and has given its place to others: get one again. */
  | { readonly kind: 'resume' }
  /** It had ended: get its clusters again, for the way back. */
  | { readonly kind: 'reopen'; readonly reason: RollbackReason; readonly message: string };

/** Something to be done on one cluster. It is in the status before it is begun, by its `attempt`, and asked for until it is done. */
export interface ClusterAct {
  readonly kind: 'install' | 'switch' | 'check' | 'restore';
  readonly cluster: string;
  readonly attempt: string;
}

export type Act = WholeAct | ClusterAct;

export const isClusterAct = (act: Act): act is ClusterAct => 'cluster' in act;

/** Something to tell people of. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
  readonly cluster?: string;
}

export interface Step {
  /** On before anything is begun, off once it has come to an end. The rest of the step waits. */
  readonly finalizer?: 'add' | 'remove';
  /** As it shall be; the same object as before where nothing changes. It is written before any of the acts is begun. */
  readonly status: RolloutStatus;
  readonly acts: readonly Act[];
  /** Milliseconds since 1970: look again then, even if nothing changes. */
  readonly wakeAt?: number;
}

export const phaseOf = ({ phase }: RolloutStatus): RolloutPhase => phase ?? 'Planning';

/** It holds clusters: from when it got its place until its end. */
export const isUnderWay = (status: RolloutStatus): boolean =>
  status.startedAt !== undefined && status.finishedAt === undefined;

/** Of those that may be under way at once: one that is held, with nothing going on anywhere, is none of them. */
export const takesPlace = (status: RolloutStatus): boolean => isUnderWay(status) && status.heldSince === undefined;

export const isFinished = (status: RolloutStatus): boolean =>
  phaseOf(status) === 'Completed' || phaseOf(status) === 'Failed';

/** Something of this rollout may be on it. Before it is prepared nothing is changed there. */
export const isTouched = ({ state, startedAt }: ClusterStatus): boolean =>
  startedAt !== undefined && state !== 'Pending' && state !== 'Skipped' && state !== 'RolledBack';

/** It is there and looked at. */
export const isWatched = ({ state }: ClusterStatus): boolean => state === 'Validating' || state === 'Healthy';

export const hasFailed = ({ state }: ClusterStatus): boolean =>
  state === 'Unhealthy' || state === 'RollingBack' || state === 'RolledBack' || state === 'Failed';

/** One step of each kind for a cluster and a rollout, however often it is asked for: also a value of a Kubernetes label. */
export const attemptOf = ({ metadata }: Rollout, step: 'install' | 'switch' | 'rollback'): string =>
  `${metadata.uid ?? ''}.${step}`;

export const stepOf = (attempt = ''): string => attempt.slice(attempt.lastIndexOf('.') + 1);

export const instantOf = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Milliseconds since 1970; what is not there lies far back. */
export function timeOf(instant: string | undefined): number {
  const at = Date.parse(instant ?? '');
  return Number.isNaN(at) ? 0 : at;
}

/** As many as somebody reads, for a sentence: there may be a thousand. */
const mostNames = 5;

export function namesOf(clusters: readonly { readonly name: string }[]): string {
  const names = clusters.slice(0, mostNames).map(({ name }) => name);
  const others = clusters.length - names.length;
  return others === 0 ? names.join(', ') : `${names.join(', ')} and ${others} others`;
}

/** The same status with one cluster changed; the very same where the change changes nothing. */
export function withCluster(
  status: RolloutStatus,
  name: string,
  change: (cluster: ClusterStatus) => ClusterStatus,
): RolloutStatus {
  return withClusters(status, (cluster) => (cluster.name === name ? change(cluster) : cluster));
}

export function withClusters(status: RolloutStatus, change: (cluster: ClusterStatus) => ClusterStatus): RolloutStatus {
  const before = status.clusters ?? [];
  const clusters = before.map(change);
  return clusters.every((cluster, index) => cluster === before[index]) ? status : { ...status, clusters };
}

/** Without these fields. */
export function without<T extends object, K extends keyof T>(value: T, ...fields: readonly K[]): Omit<T, K> {
  const rest = { ...value };
  for (const field of fields) delete rest[field];
  return rest;
}
