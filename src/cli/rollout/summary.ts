/** Summaries of a rollout for lists, programs and the live view. */
import type { ApprovalOutcome, ApprovalType, ClusterState, OperatorDeployment, RolloutPhase } from '../../api/index.ts';
import { type Condition, getCondition } from '../../runtime/index.ts';
import { plainLine } from '../../runtime/internal.ts';

export type Rollout = OperatorDeployment;

export interface Summary {
  readonly name: string;
  readonly id: string | undefined;
  readonly operator: string;
  readonly version: string;
  readonly strategy: string;
  readonly phase: RolloutPhase;
  readonly paused: boolean;
  /** The current stage, counted from 1; 0 before the first. */
  readonly stage: number;
  readonly stages: number;
  readonly clusters: Counts;
  /** The reason of the Ready condition. */
  readonly reason: string;
  readonly message: string;
  readonly created: string | undefined;
  readonly started: string | undefined;
  readonly finished: string | undefined;
}

interface Counts {
  readonly total: number;
  readonly healthy: number;
  readonly failed: number;
  readonly skipped: number;
  readonly rolledBack: number;
}

/** `Report` is a summary with all stages and clusters. */
export interface Report extends Summary {
  readonly stageList: readonly StageReport[];
  readonly approvals: readonly { name: string; type: ApprovalType; outcome: ApprovalOutcome }[];
  readonly rollback: NonNullable<NonNullable<Rollout['status']>['rollback']> | undefined;
  readonly history: readonly HistoryEntry[];
}

export interface StageReport {
  readonly number: number;
  readonly name: string;
  readonly clusters: readonly ClusterReport[];
}

export interface ClusterReport {
  readonly name: string;
  readonly environment: string;
  readonly state: ClusterState;
  readonly fromVersion: string | undefined;
  readonly checks: number;
  readonly checksPassed: number;
  readonly failuresInRow: number;
  readonly healthySince: string | undefined;
  readonly message: string | undefined;
}

export interface HistoryEntry {
  readonly at: string;
  readonly what: string;
  readonly cluster?: string | undefined;
  readonly message?: string | undefined;
}

export function summaryOf({ metadata, spec, status = {} }: Rollout): Summary {
  const ready = getCondition(status.conditions as Condition[] | undefined, 'Ready');
  const { total = 0, healthy = 0, failed = 0, skipped = 0, rolledBack = 0 } = status.counts ?? {};
  return {
    name: metadata.name,
    id: metadata.uid,
    operator: spec.operator,
    version: spec.version,
    strategy: spec.strategy,
    phase: status.phase ?? 'Planning',
    paused: spec.paused ?? false,
    stage: status.stage ?? 0,
    stages: status.plan?.stages.length ?? 0,
    clusters: { total, healthy, failed, skipped, rolledBack },
    reason: ready?.reason ?? 'NotReconciled',
    message: ready === undefined ? 'the platform has not reconciled it yet' : plainLine(ready.message),
    created: metadata.creationTimestamp,
    started: status.startedAt,
    finished: status.finishedAt,
  };
}

export function reportOf(rollout: Rollout): Report {
  const { status = {} } = rollout;
  const clusters = status.clusters ?? [];
  const stages = status.plan?.stages ?? [];
  return {
    ...summaryOf(rollout),
    stageList: stages.map(({ name }, index) => ({
      number: index + 1,
      name,
      clusters: clusters.filter(({ stage }) => stage === index + 1).map(clusterReportOf),
    })),
    approvals: status.approvals ?? [],
    rollback: status.rollback,
    history: (status.history ?? []).map(({ at, what, cluster, message }) => ({
      at,
      what,
      ...(cluster === undefined ? {} : { cluster }),
      ...(message === undefined ? {} : { message: plainLine(message) }),
    })),
  };
}

type ClusterStatus = NonNullable<NonNullable<Rollout['status']>['clusters']>[number];

const clusterReportOf = (cluster: ClusterStatus): ClusterReport => ({
  name: cluster.name,
  environment: cluster.environment,
  state: cluster.state,
  fromVersion: cluster.fromVersion,
  checks: cluster.checks ?? 0,
  checksPassed: cluster.checksPassed ?? 0,
  failuresInRow: cluster.failuresInRow ?? 0,
  healthySince: cluster.healthySince,
  message: cluster.message === undefined ? undefined : plainLine(cluster.message),
});

export const isFinished = ({ phase }: Pick<Summary, 'phase'>): boolean => phase === 'Completed' || phase === 'Failed';
