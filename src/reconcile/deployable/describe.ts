/** From what is known of a deployment to what people read: phase, and the conditions Deployed, StatusReported and Ready. */
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

/** What only who looks around can tell: conditions, and what stands in the way. */
export interface Surroundings {
  readonly more?: readonly DesiredCondition[];
  readonly blocker: Blocker | undefined;
}

/**
 * The status with all that follows from it filled in. Without the surroundings, what they alone explain stays as it is: a report on what
 * was deployed before says nothing about what keeps the newest generation, or the deletion, from being dispatched.
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

/** Nobody has decided yet, or something keeps them from deciding, to dispatch what is wanted now. */
function isUndecided({ metadata }: Deployable, { deploymentId = '', requested }: DeployableStatus): boolean {
  if (metadata.deletionTimestamp !== undefined) return requested !== 'Delete';
  return parseDeploymentId(deploymentId)?.generation !== metadata.generation;
}

/** What the broker has said about the deployment in force; what it said about an earlier one counts no more. */
export function currentReport(status: DeployableStatus): LastReport | undefined {
  const { lastReport, deploymentId } = status;
  return lastReport !== undefined && lastReport.deploymentId === deploymentId ? lastReport : undefined;
}

/** Decided, and not known to have arrived. */
export const unsent = ({ outbox = [] }: DeployableStatus) => outbox.find(({ action }) => action !== 'Query');

function outboxCondition({ outbox = [] }: DeployableStatus): DesiredCondition {
  const type = 'StatusReported';
  const [entry] = outbox;
  if (entry === undefined) return { type, status: 'True', reason: 'Acknowledged', message: '' };
  const { action, error, attempts = 0 } = entry;
  const message =
    attempts === 0
      ? `${action} is to be sent`
      : `${action} was not acknowledged and is sent again until it is${error === undefined ? '' : `: ${error}`}`;
  return { type, status: 'False', reason: 'PendingWebhookRetry', message };
}

function deployment({ metadata }: Deployable, status: DeployableStatus, blocker: Blocker | undefined): Verdict {
  const current = parseDeploymentId(status.deploymentId ?? '');
  const waiting = blocker?.denies === true ? 'failed' : 'pending';
  if (current === undefined || current.generation !== metadata.generation) {
    const { reason, message } = blocker ?? { reason: 'NotDispatched', message: 'it is about to be deployed' };
    const runs = status.deployedGeneration;
    const before = runs === undefined ? '' : `generation ${runs} stays as it is: `;
    return { status: 'False', reason, message: `${before}${message}`, phase: waiting };
  }
  const heard = currentReport(status);
  if (heard === undefined && unsent(status) !== undefined) {
    const { reason, message } = blocker ?? { reason: 'Dispatching', message: 'it is being handed to the broker' };
    return { status: 'False', reason, message, phase: 'pending' };
  }
  const said = heard?.message ?? '';
  switch (heard?.phase) {
    case 'ready':
      return { status: 'True', reason: 'Deployed', message: said, phase: 'ready' };
    case 'failed':
      return failure(heard);
    case 'drifted':
      return lost('Drifted', `it is no longer what was asked for${said && `: ${said}`}`, blocker);
    case 'deleted':
      return lost('DeletedExternally', `it is gone, and nobody has asked for that${said && `: ${said}`}`, blocker);
    case 'absent':
      return lost('UnknownToBroker', 'the broker knows nothing of it', blocker);
    default:
      return underWay(status, 'Deploying', said === '' ? 'the broker is at work' : said);
  }
}

function lost(reason: string, message: string, blocker: Blocker | undefined): Verdict {
  const next = blocker === undefined ? 'it is deployed again' : `it is not deployed again: ${blocker.message}`;
  return { status: 'False', reason, message: `${message}; ${next}`, phase: 'deploying' };
}

function underWay({ awaiting, targetRef }: DeployableStatus, reason: string, message: string): Verdict {
  if (awaiting?.overdue !== true) return { status: 'False', reason, message, phase: 'deploying' };
  return {
    status: 'Unknown',
    reason: 'NoAnswer',
    message: `Broker ${targetRef?.broker} has not answered in time and was asked: see whether it is well (kubectl get brokers)`,
    phase: 'unknown',
  };
}

const remedies = {
  transient: 'it is tried again by itself',
  permanent: `change the spec, or set the annotation ${RETRY_ANNOTATION} to another value to have it tried again`,
  quota: `make room, then set the annotation ${RETRY_ANNOTATION} to another value`,
} as const;
const failureReasons = { transient: 'TransientError', permanent: 'PermanentError', quota: 'QuotaExceeded' } as const;

/** What may heal by itself is still under way: `failed` is what will not. */
function failure({ error }: LastReport): Verdict {
  const kind = error?.class ?? 'transient';
  const said = error === undefined ? 'it failed' : `${error.code}: ${error.message ?? 'no more was said'}`;
  return {
    status: 'False',
    reason: failureReasons[kind],
    message: `${said}; ${remedies[kind]}`,
    phase: kind === 'transient' ? 'deploying' : 'failed',
  };
}

const wayOut = `where it will never answer, see docs/deployments.md on ${ABANDON_CLEANUP_ANNOTATION}`;

function deletion(status: DeployableStatus, blocker: Blocker | undefined): Verdict {
  if (status.deploymentId === undefined) return { status: 'False', reason: 'Deleting', message: '', phase: 'pending' };
  if (blocker !== undefined) {
    const { reason, message } = blocker;
    return { status: 'False', reason, message: `the deletion waits: ${message}; ${wayOut}`, phase: 'pending' };
  }
  const heard = currentReport(status);
  if (status.requested !== 'Delete' || (heard === undefined && unsent(status) !== undefined)) {
    return {
      status: 'False',
      reason: 'Deleting',
      message: 'the broker is being asked to remove it',
      phase: 'deploying',
    };
  }
  if (heard?.phase === 'deleted')
    return { status: 'False', reason: 'Deleted', message: 'it is gone', phase: 'deploying' };
  if (heard?.phase === 'failed') {
    const { message, ...verdict } = failure(heard);
    return { ...verdict, reason: `Deletion${verdict.reason}`, message: `${message}; ${wayOut}` };
  }
  const verdict = underWay(status, 'Deleting', 'the broker removes it');
  return verdict.phase === 'unknown'
    ? { ...verdict, reason: 'DeletionStuck', message: `${verdict.message}; ${wayOut}` }
    : verdict;
}
