/** Derives the phase and the conditions Deployed, StatusReported and Ready from the state of a deployment. */
import { isDeepStrictEqual } from 'node:util';
import { ABANDON_CLEANUP_ANNOTATION, RETRY_ANNOTATION } from '../../api/index.ts';
import { parseDeploymentId } from '../../broker/index.ts';
import { type Condition, type DesiredCondition, mergeConditions } from '../../runtime/index.ts';
import type { Deployable, DeployableStatus, LastReport } from './deployable.ts';
import type { Blocker } from './preconditions.ts';

type Phase = NonNullable<DeployableStatus['phase']>;

interface Verdict {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
  readonly phase: Phase;
}

/** The surroundings of the object: its conditions, and what blocks it. */
export interface Surroundings {
  readonly more?: readonly DesiredCondition[];
  readonly blocker: Blocker | undefined;
}

/**
 * `describeStatus` fills in the derived fields. Without the surroundings, conditions that depend on them are kept: a
 * report on an earlier deployment says nothing about what blocks the newest generation or the deletion.
 */
export function describeStatus(
  object: Deployable,
  status: DeployableStatus,
  now: number,
  surroundings?: Surroundings,
): DeployableStatus {
  const { metadata } = object;
  const observedGeneration = metadata.generation ?? 0;
  const { more = [], blocker } = surroundings ?? {};
  const isKept = surroundings === undefined && isUndecided(object, status) && status.phase !== undefined;
  const verdict =
    metadata.deletionTimestamp === undefined ? deployment(object, status, blocker) : deletion(status, blocker);
  const [deployed, ready] = conditionsOf(verdict);
  const reported = outboxCondition(status);
  const desired = [...more, ...(isKept ? [reported] : [deployed, reported, ready])];
  const { conditions } = mergeConditions(
    status.conditions as Condition[] | undefined,
    desired.map((each) => ({ ...each, message: each.message?.slice(0, 4096) ?? '', observedGeneration })),
    new Date(now),
  );
  const summary = isKept ? {} : { phase: verdict.phase, observedGeneration };
  const next = { ...status, ...summary, conditions } as DeployableStatus;
  return isDeepStrictEqual(next, object.status) ? (object.status as DeployableStatus) : next;
}

function conditionsOf({ status, reason, message }: Verdict): [DesiredCondition, DesiredCondition] {
  return [
    { type: 'Deployed', status, reason, message },
    { type: 'Ready', status, reason: status === 'True' ? 'ResourceReady' : reason, message },
  ];
}

/** Whether the current generation, or the deletion, is not dispatched yet. */
function isUndecided({ metadata }: Deployable, { deploymentId = '', requested }: DeployableStatus): boolean {
  if (metadata.deletionTimestamp !== undefined) return requested !== 'Delete';
  return parseDeploymentId(deploymentId)?.generation !== metadata.generation;
}

/** `currentReport` returns the last report on the current deployment; reports on earlier ones no longer count. */
export function currentReport(status: DeployableStatus): LastReport | undefined {
  const { lastReport, deploymentId } = status;
  return lastReport !== undefined && lastReport.deploymentId === deploymentId ? lastReport : undefined;
}

/** The entry that was decided and is not acknowledged yet. */
export const unsent = ({ outbox = [] }: DeployableStatus) => outbox.find(({ action }) => action !== 'Query');

function outboxCondition({ outbox = [] }: DeployableStatus): DesiredCondition {
  const type = 'StatusReported';
  const [entry] = outbox;
  if (entry === undefined) return { type, status: 'True', reason: 'Acknowledged', message: '' };
  const { action, error, attempts = 0 } = entry;
  const message =
    attempts === 0
      ? `${action} is waiting to be sent`
      : `${action} was not acknowledged; retrying${error === undefined ? '' : `: ${error}`}`;
  return { type, status: 'False', reason: 'PendingWebhookRetry', message };
}

function deployment({ metadata }: Deployable, status: DeployableStatus, blocker: Blocker | undefined): Verdict {
  const current = parseDeploymentId(status.deploymentId ?? '');
  const waiting = blocker?.denies === true ? 'failed' : 'pending';
  if (current === undefined || current.generation !== metadata.generation) {
    const { reason, message } = blocker ?? {
      reason: 'NotDispatched',
      message: 'The deployment is about to be dispatched',
    };
    const runs = status.deployedGeneration;
    const before = runs === undefined ? '' : `Generation ${runs} stays deployed: `;
    return { status: 'False', reason, message: `${before}${message}`, phase: waiting };
  }
  const heard = currentReport(status);
  if (heard === undefined && unsent(status) !== undefined) {
    const { reason, message } = blocker ?? {
      reason: 'Dispatching',
      message: 'The deployment is being sent to the broker',
    };
    return { status: 'False', reason, message, phase: 'pending' };
  }
  const said = heard?.message ?? '';
  switch (heard?.phase) {
    case 'ready':
      return { status: 'True', reason: 'Deployed', message: said, phase: 'ready' };
    case 'failed':
      return failure(heard);
    case 'drifted':
      return lost('Drifted', `The deployment drifted from its spec${said && `: ${said}`}`, blocker);
    case 'deleted':
      return lost(
        'DeletedExternally',
        `The deployment was deleted outside of the platform${said && `: ${said}`}`,
        blocker,
      );
    case 'absent':
      return lost('UnknownToBroker', 'The broker does not know the deployment', blocker);
    default:
      return underWay(status, 'Deploying', said === '' ? 'The broker is deploying' : said);
  }
}

function lost(reason: string, message: string, blocker: Blocker | undefined): Verdict {
  const next = blocker === undefined ? 'it will be redeployed' : `it is not redeployed: ${blocker.message}`;
  return { status: 'False', reason, message: `${message}; ${next}`, phase: 'deploying' };
}

function underWay({ awaiting, targetRef }: DeployableStatus, reason: string, message: string): Verdict {
  if (awaiting?.overdue !== true) return { status: 'False', reason, message, phase: 'deploying' };
  return {
    status: 'Unknown',
    reason: 'NoAnswer',
    message: `Broker ${targetRef?.broker} has not answered in time and was queried: check its health with kubectl get brokers`,
    phase: 'unknown',
  };
}

const remedies = {
  transient: 'it is retried automatically',
  permanent: `change the spec, or set the annotation ${RETRY_ANNOTATION} to a new value to retry`,
  quota: `raise the quota or free capacity, then set the annotation ${RETRY_ANNOTATION} to a new value`,
} as const;
const failureReasons = { transient: 'TransientError', permanent: 'PermanentError', quota: 'QuotaExceeded' } as const;

/** Failures that may resolve automatically keep the phase `deploying`; the others are `failed`. */
function failure({ error }: LastReport): Verdict {
  const kind = error?.class ?? 'transient';
  const said =
    error === undefined ? 'The deployment failed' : `${error.code}: ${error.message ?? 'no details reported'}`;
  return {
    status: 'False',
    reason: failureReasons[kind],
    message: `${said}; ${remedies[kind]}`,
    phase: kind === 'transient' ? 'deploying' : 'failed',
  };
}

const abandonHint = `if the broker will never answer, see ${ABANDON_CLEANUP_ANNOTATION} in docs/deployments.md`;

function deletion(status: DeployableStatus, blocker: Blocker | undefined): Verdict {
  if (status.deploymentId === undefined) return { status: 'False', reason: 'Deleting', message: '', phase: 'pending' };
  if (blocker !== undefined) {
    const { reason, message } = blocker;
    return { status: 'False', reason, message: `The deletion waits: ${message}; ${abandonHint}`, phase: 'pending' };
  }
  const heard = currentReport(status);
  if (status.requested !== 'Delete' || (heard === undefined && unsent(status) !== undefined)) {
    return {
      status: 'False',
      reason: 'Deleting',
      message: 'The deletion is being sent to the broker',
      phase: 'deploying',
    };
  }
  if (heard?.phase === 'deleted')
    return { status: 'False', reason: 'Deleted', message: 'The deployment was deleted', phase: 'deploying' };
  if (heard?.phase === 'failed') {
    const { message, ...verdict } = failure(heard);
    return { ...verdict, reason: `Deletion${verdict.reason}`, message: `${message}; ${abandonHint}` };
  }
  const verdict = underWay(status, 'Deleting', 'The broker is deleting the deployment');
  return verdict.phase === 'unknown'
    ? { ...verdict, reason: 'DeletionStuck', message: `${verdict.message}; ${abandonHint}` }
    : verdict;
}
