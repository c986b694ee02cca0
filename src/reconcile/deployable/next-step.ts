/**
 * `nextStep` decides the next step for one object from the stored object, the facts around it and the time.
 *
 * All decisions are pure functions, here or in reports.ts, and are written by compare-and-swap on the version they were
 * made for. So it does not matter which replica decides, how often, or where the last attempt was interrupted.
 */
import { createHash } from 'node:crypto';
import { ABANDON_CLEANUP_ANNOTATION, CLEANUP_FINALIZER } from '../../api/index.ts';
import { formatDeploymentId, parseDeploymentId } from '../../broker/index.ts';
import { hasFinalizer } from '../../runtime/index.ts';
import { bindingsIn } from '../bindings/index.ts';
import { instantOf, millisecondsOf, share } from './backoff.ts';
import type { Cause, Deployable, DeployableStatus, Facts, OutboxEntry, Step } from './deployable.ts';
import { currentReport, describeStatus, type Surroundings, unsent } from './describe.ts';
import { notesBetween } from './notes.ts';
import {
  type Blocker,
  brokerNameOf,
  preconditionsOf,
  recordedOwner,
  retryValue,
  retryWanted,
} from './preconditions.ts';

export function nextStep(object: Deployable, facts: Facts, now: number): Step {
  return object.metadata.deletionTimestamp === undefined
    ? deploymentStep(object, facts, now)
    : deletionStep(object, facts, now);
}

function deploymentStep(object: Deployable, facts: Facts, now: number): Step {
  const before = withOwner(object);
  const way = preconditionsOf(object, facts);
  const blocker = way.blockers.find((each) => !isSpared(each, object));
  const cause = blocker === undefined ? deploymentCause(object, facts, now) : undefined;
  // A removed finalizer is restored even if nothing is to be sent: a recorded deployment may exist and must be cleaned up.
  const mayExist = cause !== undefined || object.status?.deploymentId !== undefined;
  if (mayExist && !hasFinalizer(object, CLEANUP_FINALIZER)) {
    return { finalizer: 'add', status: before, send: [], notes: [] };
  }
  const decided = cause === undefined ? before : intent(object, before, 'Deploy', cause, facts, now);
  return finish(object, decided, facts, now, {
    blocker,
    more: way.conditions,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** A generation that was ready is repaired, whatever policies say now. */
const isSpared = ({ allowsRepairs }: Blocker, { metadata, status }: Deployable): boolean =>
  allowsRepairs === true && status?.deployedGeneration === metadata.generation;

function deploymentCause(object: Deployable, facts: Facts, now: number): Cause | undefined {
  const { metadata, status = {} } = object;
  const current = parseDeploymentId(status.deploymentId ?? '');
  if (current === undefined) return 'first';
  if (current.generation !== metadata.generation) return 'generation';
  if (isTakenOver(status, facts)) return 'take-over';
  if (retryWanted(object)) return 'retry';
  if (bindingsDigest(object) !== (status.dispatchedBindings ?? '')) return 'bindings';
  return retryCause(status, now);
}

/** The cause for another attempt after a report, if it is due. */
function retryCause(status: DeployableStatus, now: number): Cause | undefined {
  const heard = currentReport(status);
  if (heard === undefined || millisecondsOf(status.nextAttemptAt) > now) return undefined;
  switch (heard.phase) {
    case 'drifted':
      return 'drift';
    case 'deleted':
      return status.requested === 'Delete' ? undefined : 'drift';
    case 'absent':
      return 'lost';
    case 'failed':
      return (heard.error?.class ?? 'transient') === 'transient' ? 'transient' : undefined;
    default:
      return undefined;
  }
}

function isTakenOver(status: DeployableStatus, { target }: Facts): boolean {
  return status.targetRef?.broker !== undefined && brokerNameOf(status, target) !== status.targetRef.broker;
}

function deletionStep(object: Deployable, facts: Facts, now: number): Step {
  const { metadata, status = {} } = object;
  const gone = (notes: Step['notes'] = []): Step => ({ finalizer: 'remove', status, send: [], notes });
  if (!hasFinalizer(object, CLEANUP_FINALIZER)) return { status, send: [], notes: [] };
  // Nothing was sent without a recorded decision: intent is written first.
  if (status.deploymentId === undefined) return gone();
  const uid = metadata.annotations?.[ABANDON_CLEANUP_ANNOTATION];
  if (uid !== undefined && uid === metadata.uid) return gone([abandoned(status)]);
  if (status.requested === 'Delete' && currentReport(status)?.phase === 'deleted') return gone();
  const blocker = deletionBlocker(status, facts);
  const cause = blocker === undefined ? deletionCause(object, facts, now) : undefined;
  const decided = cause === undefined ? status : intent(object, status, 'Delete', cause, facts, now);
  return finish(object, decided, facts, now, { blocker, ...(cause === undefined ? {} : { cause }) });
}

const abandoned = ({ targetRef, deploymentId }: DeployableStatus): Step['notes'][number] => ({
  type: 'Warning',
  reason: 'CleanupAbandoned',
  action: 'Delete',
  note: `Finalizer removed without cleanup confirmation from Broker ${targetRef?.broker}; deployment ${deploymentId} may still exist, remove it manually`,
});

function deletionCause(object: Deployable, facts: Facts, now: number): Cause | undefined {
  const { status = {} } = object;
  if (status.requested !== 'Delete') return 'deletion';
  if (isTakenOver(status, facts)) return 'take-over';
  if (retryWanted(object)) return 'retry';
  return retryCause(status, now);
}

/** Policy, owner and target never block a deletion; only its broker must be available. */
function deletionBlocker(status: DeployableStatus, { target, broker }: Facts): Blocker | undefined {
  const name = brokerNameOf(status, target);
  const known = name === undefined ? undefined : broker(name);
  if (known === undefined)
    return {
      reason: 'BrokerMissing',
      message: `Broker ${name}, which has this deployment, does not exist: re-create it`,
    };
  if (known.paused) return { reason: 'BrokerPaused', message: `Broker ${name} is paused (spec.paused)` };
  return undefined;
}

/** `intent` creates a new deployment and its message in one value; it replaces unsent messages. */
function intent(
  object: Deployable,
  status: DeployableStatus,
  action: 'Deploy' | 'Delete',
  cause: Cause,
  { target }: Facts,
  now: number,
): DeployableStatus {
  const { metadata } = object;
  const { nextAttemptAt, awaiting, failures, retried, dispatchedBindings, ...rest } = status;
  const before = parseDeploymentId(status.deploymentId ?? '');
  const generation = Math.max(metadata.generation ?? 0, before?.generation ?? 0);
  const attempt = before?.generation === generation ? before.attempt + 1 : 1;
  const deploymentId = formatDeploymentId({ uid: metadata.uid ?? '', generation, attempt });
  const entry: OutboxEntry = {
    id: `${deploymentId}/${action}`,
    action,
    deploymentId,
    createdAt: instantOf(now),
    attempts: 0,
  };
  const isRetry = cause === 'transient' || cause === 'drift' || cause === 'lost';
  const broker = brokerNameOf(status, target);
  const name = target?.request.name ?? status.targetRef?.name ?? '';
  const wantedRetry = retryValue(metadata.annotations) ?? retried;
  const bindings = action === 'Deploy' ? bindingsDigest({ ...object, status }) : dispatchedBindings;
  return {
    ...rest,
    deploymentId,
    attempt,
    requested: action,
    targetRef: { name, ...(broker === undefined ? {} : { broker }), ...formerBrokers(status, broker) },
    outbox: [entry],
    ...(isRetry && failures !== undefined ? { failures } : {}),
    ...(wantedRetry === undefined ? {} : { retried: wantedRetry }),
    ...(bindings === undefined || bindings === '' ? {} : { dispatchedBindings: bindings }),
  };
}

/** The limit of the status schema. */
const mostFormerBrokers = 32;

/**
 * The former brokers whose resources the current broker also manages. They are kept for good, because immutable names
 * contain them.
 */
function formerBrokers(
  status: DeployableStatus,
  broker: string | undefined,
): Pick<NonNullable<DeployableStatus['targetRef']>, 'formerBrokers'> {
  const { broker: last, formerBrokers: earlier = [] } = status.targetRef ?? {};
  const names = last === undefined || last === broker || !mayHaveDeployed(status, last) ? earlier : [...earlier, last];
  const former = [...new Set(names)].filter((name) => name !== broker).slice(-mostFormerBrokers);
  return former.length === 0 ? {} : { formerBrokers: former };
}

/** False only if every message to the broker failed and it never reported. */
const mayHaveDeployed = (
  { dispatchedGeneration, lastReport, outbox = [] }: DeployableStatus,
  broker: string,
): boolean =>
  dispatchedGeneration !== undefined ||
  lastReport?.broker === broker ||
  outbox.every(({ action, attempts = 0 }) => action === 'Query' || attempts === 0);

interface Outlook {
  readonly blocker: Blocker | undefined;
  readonly more?: Surroundings['more'];
  readonly cause?: Cause;
}

function finish(object: Deployable, decided: DeployableStatus, facts: Facts, now: number, outlook: Outlook): Step {
  const { blocker, more, cause } = outlook;
  const asked = withQuery(object, decided, facts, now, blocker);
  const status = describeStatus(object, asked, now, { blocker, ...(more === undefined ? {} : { more }) });
  const send =
    blocker === undefined
      ? (status.outbox ?? []).filter(({ nextAttemptAt }) => millisecondsOf(nextAttemptAt) <= now)
      : [];
  const wakeAt = nextWakeUp(object, status, facts, now);
  return {
    status,
    send,
    notes: notesBetween(object.status, status),
    ...(wakeAt === undefined ? {} : { wakeAt }),
    ...(cause === undefined ? {} : { cause }),
  };
}

/** Adds a query to the outbox if the answer is overdue or a report is missing. */
function withQuery(
  object: Deployable,
  status: DeployableStatus,
  facts: Facts,
  now: number,
  blocker: Blocker | undefined,
): DeployableStatus {
  const due = answerDue(object, status, facts);
  if (due === undefined || due > now || status.deploymentId === undefined) return status;
  const isSettled = !isUnderWay(status);
  if (isSettled && (blocker !== undefined || !isVerifiedSince(status, facts))) return status;
  const queries = (status.awaiting?.queries ?? 0) + 1;
  const entry: OutboxEntry = {
    // An earlier query may have the same number if the count was lost, so the id contains the time.
    id: `${status.deploymentId}/Query/${isSettled ? now : queries}`,
    action: 'Query',
    deploymentId: status.deploymentId,
    createdAt: instantOf(now),
    attempts: 0,
  };
  const others = (status.outbox ?? []).filter(({ action }) => action !== 'Query');
  const awaiting = { since: instantOf(now), queries, ...(isSettled ? {} : { overdue: true }) };
  return { ...status, outbox: [...others, entry], awaiting };
}

/** When the answer is due; undefined if none is expected. */
function answerDue({ metadata }: Deployable, status: DeployableStatus, { settings }: Facts): number | undefined {
  if (status.awaiting === undefined || unsent(status) !== undefined) return undefined;
  const { answerMilliseconds, deletionMilliseconds } = settings;
  const patience = metadata.deletionTimestamp === undefined ? answerMilliseconds : deletionMilliseconds;
  // Reports of thousands of objects may be lost at once; the queries are spread out.
  const part = isUnderWay(status) ? 1 : 0.5 + 0.5 * share(metadata.uid ?? '');
  return millisecondsOf(status.awaiting.since) + patience * part;
}

/** Whether the broker is still working. If not, an answer is expected only because a report may have been lost. */
function isUnderWay(status: DeployableStatus): boolean {
  const phase = currentReport(status)?.phase;
  const isAtWork = phase === undefined || phase === 'accepted' || phase === 'deploying';
  return isAtWork || (phase === 'ready' && status.requested === 'Delete');
}

/**
 * The broker must have been verified after the report was lost or the query sent; otherwise its answer would be lost
 * too.
 */
function isVerifiedSince({ targetRef, awaiting }: DeployableStatus, { broker }: Facts): boolean {
  const heardAt = broker(targetRef?.broker ?? '')?.heardAt;
  return heardAt === undefined || heardAt > millisecondsOf(awaiting?.since);
}

function nextWakeUp(object: Deployable, status: DeployableStatus, facts: Facts, now: number): number | undefined {
  const due = answerDue(object, status, facts);
  const moments = [
    // The query is due, but no broker can be queried now.
    due !== undefined && due <= now ? now + facts.settings.answerMilliseconds : due,
    ...(status.nextAttemptAt === undefined ? [] : [millisecondsOf(status.nextAttemptAt)]),
    ...(status.outbox ?? []).flatMap(({ nextAttemptAt }) =>
      nextAttemptAt === undefined ? [] : [millisecondsOf(nextAttemptAt)],
    ),
  ].filter((each) => each !== undefined && each > now) as number[];
  return moments.length === 0 ? undefined : Math.min(...moments);
}

/** The owner is recorded when the platform first handles the object. */
function withOwner({ spec, status = {} }: Deployable): DeployableStatus {
  if (recordedOwner(status) !== undefined || spec.owner === undefined) return status;
  return { ...status, owner: spec.owner };
}

/** A digest that changes with the bindings or their revisions; empty without bindings. */
function bindingsDigest(object: Deployable): string {
  const bindings = bindingsIn(object);
  if (bindings.length === 0) return '';
  const lines = bindings.map(({ kind, namespace, name, connectionSecret, revision }) =>
    JSON.stringify([kind, namespace, name, connectionSecret ?? '', revision ?? '']),
  );
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 32);
}
