/**
 * What is to be done about one object: from the object as it is stored, what surrounds it and the time, to one step. Everything that
 * decides is here or in reports.ts, is a value from values, and is written by compare-and-swap on the very version it was worked out
 * from. So it does not matter who asks, how often, or where the last one was cut off.
 */
import { createHash } from 'node:crypto';
import { ABANDON_CLEANUP_ANNOTATION, CLEANUP_FINALIZER } from '../../api/index.ts';
import { formatDeploymentId, parseDeploymentId } from '../../broker/index.ts';
import { hasFinalizer } from '../../runtime/index.ts';
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
  if (cause !== undefined && !hasFinalizer(object, CLEANUP_FINALIZER)) {
    return { finalizer: 'add', status: before, send: [], notes: [] };
  }
  const decided = cause === undefined ? before : intent(object, before, 'Deploy', cause, facts, now);
  return finish(object, decided, facts, now, {
    blocker,
    more: way.conditions,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** A generation that was ready is kept in repair, whatever policy says of it now. */
const isSpared = ({ allowsRepairs }: Blocker, { metadata, status }: Deployable): boolean =>
  allowsRepairs === true && status?.deployedGeneration === metadata.generation;

function deploymentCause(object: Deployable, facts: Facts, now: number): Cause | undefined {
  const { metadata, status = {} } = object;
  const current = parseDeploymentId(status.deploymentId ?? '');
  if (current === undefined) return 'first';
  if (current.generation !== metadata.generation) return 'generation';
  if (isTakenOver(status, facts)) return 'take-over';
  if (retryWanted(object)) return 'retry';
  if (bindingsDigest(status) !== (status.dispatchedBindings ?? '')) return 'bindings';
  return again(status, now);
}

/** What was reported makes another attempt necessary, and its time has come. */
function again(status: DeployableStatus, now: number): Cause | undefined {
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
  // What was never decided was never sent: intent is written first.
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
  note: `the object goes, and nobody has confirmed that what Broker ${targetRef?.broker} deployed as ${deploymentId} is gone: see to it by hand`,
});

function deletionCause(object: Deployable, facts: Facts, now: number): Cause | undefined {
  const { status = {} } = object;
  if (status.requested !== 'Delete') return 'deletion';
  if (isTakenOver(status, facts)) return 'take-over';
  if (retryWanted(object)) return 'retry';
  return again(status, now);
}

/** Neither policy nor owner nor target keeps anything from going: only its broker must be there. */
function deletionBlocker(status: DeployableStatus, { target, broker }: Facts): Blocker | undefined {
  const name = brokerNameOf(status, target);
  const known = name === undefined ? undefined : broker(name);
  if (known === undefined)
    return { reason: 'BrokerMissing', message: `there is no Broker ${name}, which has it: create it again` };
  if (known.paused) return { reason: 'BrokerPaused', message: `Broker ${name} is paused (spec.paused)` };
  return undefined;
}

/** A new deployment and the message that asks for it, in one value: whatever was to be sent before is overtaken by it. */
function intent(
  { metadata }: Deployable,
  status: DeployableStatus,
  action: 'Deploy' | 'Delete',
  cause: Cause,
  { target }: Facts,
  now: number,
): DeployableStatus {
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
  const goesOn = cause === 'transient' || cause === 'drift' || cause === 'lost';
  const broker = brokerNameOf(status, target);
  const name = target?.request.name ?? status.targetRef?.name ?? '';
  const wantedRetry = retryValue(metadata.annotations) ?? retried;
  const bindings = action === 'Deploy' ? bindingsDigest(status) : dispatchedBindings;
  return {
    ...rest,
    deploymentId,
    attempt,
    requested: action,
    targetRef: { name, ...(broker === undefined ? {} : { broker }), ...formerBrokers(status, broker) },
    outbox: [entry],
    ...(goesOn && failures !== undefined ? { failures } : {}),
    ...(wantedRetry === undefined ? {} : { retried: wantedRetry }),
    ...(bindings === undefined || bindings === '' ? {} : { dispatchedBindings: bindings }),
  };
}

/** As many as the schema of the status has room for. */
const mostFormerBrokers = 32;

/** Whose things the broker of now has to look after too; for good, since what can never be changed goes on bearing their names. */
function formerBrokers(
  status: DeployableStatus,
  broker: string | undefined,
): Pick<NonNullable<DeployableStatus['targetRef']>, 'formerBrokers'> {
  const { broker: last, formerBrokers: earlier = [] } = status.targetRef ?? {};
  const names = last === undefined || last === broker || !mayHaveDeployed(status, last) ? earlier : [...earlier, last];
  const former = [...new Set(names)].filter((name) => name !== broker).slice(-mostFormerBrokers);
  return former.length === 0 ? {} : { formerBrokers: former };
}

/** Unless every message to it failed, and it was never heard of. */
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

/** Where the answer is overdue, or word of the broker is missing, the question how it fares goes into the outbox too. */
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
  if (isSettled && (blocker !== undefined || !isBelieved(status, facts))) return status;
  const queries = (status.awaiting?.queries ?? 0) + 1;
  const entry: OutboxEntry = {
    // What is settled may have been asked for before and the count be lost: each question has an id that no other had.
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

/** When the answer must have come; undefined where none is awaited. */
function answerDue({ metadata }: Deployable, status: DeployableStatus, { settings }: Facts): number | undefined {
  if (status.awaiting === undefined || unsent(status) !== undefined) return undefined;
  const { answerMilliseconds, deletionMilliseconds } = settings;
  const patience = metadata.deletionTimestamp === undefined ? answerMilliseconds : deletionMilliseconds;
  // Reports of thousands of objects may have been lost at one moment: their broker is not asked for all of them at one moment.
  const part = isUnderWay(status) ? 1 : 0.5 + 0.5 * share(metadata.uid ?? '');
  return millisecondsOf(status.awaiting.since) + patience * part;
}

/** Whether the broker is still at work. Where it is not, an answer is awaited only because a report may have been lost. */
function isUnderWay(status: DeployableStatus): boolean {
  const phase = currentReport(status)?.phase;
  const isAtWork = phase === undefined || phase === 'accepted' || phase === 'deploying';
  return isAtWork || (phase === 'ready' && status.requested === 'Delete');
}

/** Since the report was lost, or since it was asked: before, its answer would be lost too. */
function isBelieved({ targetRef, awaiting }: DeployableStatus, { broker }: Facts): boolean {
  const heardAt = broker(targetRef?.broker ?? '')?.heardAt;
  return heardAt === undefined || heardAt > millisecondsOf(awaiting?.since);
}

function nextWakeUp(object: Deployable, status: DeployableStatus, facts: Facts, now: number): number | undefined {
  const due = answerDue(object, status, facts);
  const moments = [
    // It is due, and there is nobody to ask for now.
    due !== undefined && due <= now ? now + facts.settings.answerMilliseconds : due,
    ...(status.nextAttemptAt === undefined ? [] : [millisecondsOf(status.nextAttemptAt)]),
    ...(status.outbox ?? []).flatMap(({ nextAttemptAt }) =>
      nextAttemptAt === undefined ? [] : [millisecondsOf(nextAttemptAt)],
    ),
  ].filter((each) => each !== undefined && each > now) as number[];
  return moments.length === 0 ? undefined : Math.min(...moments);
}

/** Who owns it is written down when the platform takes charge of it. */
function withOwner({ spec, status = {} }: Deployable): DeployableStatus {
  if (recordedOwner(status) !== undefined || spec.owner === undefined) return status;
  return { ...status, owner: spec.owner };
}

/** Differs where what is bound, or a revision of it, does; empty where nothing is. */
function bindingsDigest({ bindings = [] }: DeployableStatus): string {
  if (bindings.length === 0) return '';
  const lines = bindings.map(({ kind, namespace, name, connectionSecret, revision }) =>
    JSON.stringify([kind, namespace, name, connectionSecret ?? '', revision ?? '']),
  );
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 32);
}
