/**
 * Judges a chaos run by its evidence: the acknowledged changes of users, the stored objects, the records of the brokers, the deployments
 * in the targets, and the history that a witness saw. These are pure functions.
 */
import { compareDeployments, type DeploymentRecord, parseDeploymentId } from '../../../src/broker/index.ts';
import type { Deployable } from '../../../src/reconcile/index.ts';
import type { Departure } from './witness.ts';
import type { Expected } from './workload.ts';

export interface Evidence {
  readonly expected: readonly Expected[];
  /** The objects in the API server. */
  readonly stored: readonly Deployable[];
  /** Every state of every record, in the order in which they were written. */
  readonly records: readonly DeploymentRecord[];
  readonly things: readonly Thing[];
  /** The entries of the connection Secret of each object, by its uid. */
  readonly connections: ReadonlyMap<string, readonly string[]>;
  readonly intents: ReadonlyMap<string, readonly string[]>;
  readonly executions: ReadonlyMap<string, readonly string[]>;
  readonly departures: readonly Departure[];
}

/** A deployment in a target. */
export interface Thing {
  /** The uid of its object; undefined if unknown. */
  readonly uid: string | undefined;
  readonly name: string;
  /** The part that the spec determines. */
  readonly shape: Readonly<Record<string, unknown>>;
}

export interface Violation {
  readonly rule: Rule;
  readonly uid: string;
  readonly message: string;
}

/** `unfinished` can still resolve; the other violations are permanent. */
export type Rule = 'unfinished' | 'lost' | 'twice' | 'order' | 'early' | 'orphan' | 'unasked';

export function judge(evidence: Evidence): Violation[] {
  const newest = new Map(evidence.records.map((record) => [record.uid, record]));
  return [
    ...judgeStored(evidence),
    ...evidence.expected.flatMap((each) =>
      each.deleted
        ? judgeDeleted(each, newest.get(each.uid), evidence)
        : judgePresent(each, newest.get(each.uid), evidence),
    ),
    ...judgeLedger(evidence.records),
    ...judgeOrder('its status had', evidence.intents),
    ...judgeOrder('its target had', evidence.executions),
    ...judgeDepartures(evidence),
    ...judgeThings(evidence),
  ];
}

const violation = (rule: Rule, uid: string, message: string): Violation => ({ rule, uid, message });

function judgeStored({ expected, stored }: Evidence): Violation[] {
  const known = new Set(expected.map(({ uid }) => uid));
  return stored
    .filter(({ metadata }) => !known.has(metadata.uid ?? ''))
    .map(({ kind, metadata }) =>
      violation('unasked', metadata.uid ?? '', `${kind} ${metadata.name}: no user created it`),
    );
}

function judgePresent(wanted: Expected, record: DeploymentRecord | undefined, evidence: Evidence): Violation[] {
  const { kind, name, uid } = wanted;
  const object = evidence.stored.find(({ metadata }) => metadata.uid === uid);
  if (object === undefined) return [violation('lost', uid, `${kind} ${name} does not exist, but no user deleted it`)];
  const { metadata, spec, status = {} } = object;
  const thing = evidence.things.find((each) => each.uid === uid);
  const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status;
  const id = parseDeploymentId(status.deploymentId ?? '');
  const faults = [
    metadata.deletionTimestamp !== undefined && 'it is being deleted, but no user requested that',
    !holds(spec, wanted.spec) && `its spec is ${text(spec)}, not ${text(wanted.spec)}`,
    status.phase !== 'ready' && `its phase is ${status.phase}`,
    ready !== 'True' && `its condition Ready is ${ready}`,
    (status.outbox ?? []).length > 0 && `its outbox has ${status.outbox?.map((entry) => entry.id).join(', ')}`,
    status.deployedGeneration !== metadata.generation &&
      `generation ${status.deployedGeneration} was reported ready, want ${metadata.generation}`,
    id?.generation !== metadata.generation && `its deployment is ${status.deploymentId}`,
    record === undefined
      ? 'its broker has no record of it'
      : record.deploymentId !== status.deploymentId || record.state !== 'done' || record.request.action !== 'Deploy'
        ? `its broker has ${record.request.action} ${record.deploymentId} as ${record.state}, its status ${status.deploymentId}`
        : !holds(record.request.spec, wanted.spec) && `its broker got the spec ${text(record.request.spec)}`,
    thing === undefined
      ? 'its target has no deployment'
      : !holds(thing.shape, shapeOf(wanted)) && `its target has ${text(thing.shape)}, not ${text(shapeOf(wanted))}`,
    kind === 'Secret' &&
      !holds(evidence.connections.get(uid), shapeOf(wanted).keys) &&
      `its connection Secret has ${text(evidence.connections.get(uid))}, not ${text(shapeOf(wanted).keys)}`,
  ];
  return faults
    .filter((fault) => typeof fault === 'string')
    .map((fault) => violation('unfinished', uid, `${kind} ${name}: ${fault}`));
}

function judgeDeleted(wanted: Expected, record: DeploymentRecord | undefined, evidence: Evidence): Violation[] {
  const { kind, name, uid } = wanted;
  const object = evidence.stored.find(({ metadata }) => metadata.uid === uid);
  if (object === undefined) {
    const isGone = record === undefined || (record.state === 'deleted' && record.request.action === 'Delete');
    if (isGone) return [];
    return [
      violation(
        'early',
        uid,
        `${kind} ${name} was removed, but its broker has ${record.request.action} ${record.deploymentId} as ${record.state}`,
      ),
    ];
  }
  const { finalizers = [] } = object.metadata;
  return [violation('unfinished', uid, `${kind} ${name} was deleted but still exists, with ${finalizers.join(', ')}`)];
}

/** Across the records of one object, the ledger is append-only: a claim is in the record that made it and in all later ones. */
function judgeLedger(records: readonly DeploymentRecord[]): Violation[] {
  const claims = new Map<string, { readonly seen: Set<string>; last: string | undefined }>();
  const found: Violation[] = [];
  for (const { uid, ledger } of records) {
    const known = claims.get(uid) ?? { seen: new Set<string>(), last: undefined };
    claims.set(uid, known);
    // Entries after the last known claim are new.
    const from = ledger.findIndex((entry) => nameOf(entry) === known.last);
    for (const entry of ledger.slice(from + 1)) {
      const name = nameOf(entry);
      if (known.seen.has(name)) found.push(violation('twice', uid, `${name} was claimed twice`));
      else if (known.last !== undefined && compare(known.last, name) >= 0) {
        found.push(violation('order', uid, `${name} was claimed after ${known.last}`));
      }
      known.seen.add(name);
      known.last = name;
    }
  }
  return found;
}

const nameOf = ({ deploymentId, action }: DeploymentRecord['ledger'][number]): string => `${deploymentId} ${action}`;

/** A deletion is newer than the deployment with the same id. */
function compare(left: string, right: string): number {
  const [[leftId = '', leftAction], [rightId = '', rightAction]] = [left.split(' '), right.split(' ')];
  return compareIds(leftId, rightId) || Number(leftAction === 'Delete') - Number(rightAction === 'Delete');
}

function compareIds(left: string, right: string): number {
  const [older, newer] = [parseDeploymentId(left), parseDeploymentId(right)];
  if (older === undefined || newer === undefined) throw new Error(`${left} or ${right} is not a deploymentId`);
  return compareDeployments(older, newer);
}

function judgeOrder(what: string, histories: ReadonlyMap<string, readonly string[]>): Violation[] {
  return [...histories].flatMap(([uid, history]) =>
    history.slice(1).flatMap((id, index) => {
      const before = history[index] ?? id;
      return compareIds(before, id) < 0 ? [] : [violation('order', uid, `${what} ${id} after ${before}`)];
    }),
  );
}

function judgeDepartures({ departures, expected, records }: Evidence): Violation[] {
  const wanted = new Map(expected.map((each) => [each.uid, each]));
  const writtenDown = deletions(records);
  return departures.flatMap(({ uid, subject, left, recordState, revision, at }) => [
    ...(left.length === 0
      ? []
      : [violation('early', uid, `${subject} was removed at revision ${revision}, before ${left.join(', ')}`)]),
    ...(recordState === undefined || recordState === 'deleted'
      ? []
      : [
          violation(
            'early',
            uid,
            `${subject} was removed at revision ${revision}, while its broker had it as ${recordState}`,
          ),
        ]),
    ...((writtenDown.get(uid) ?? 0) <= at
      ? []
      : [
          violation(
            'early',
            uid,
            `${subject} was removed ${(writtenDown.get(uid) ?? 0) - at} ms before its broker had it as deleted`,
          ),
        ]),
    ...(wanted.get(uid)?.deleted === false
      ? [violation('lost', uid, `${subject} was removed, but no user deleted it`)]
      : []),
  ]);
}

/**
 * `deletions` returns when each object was first recorded as deleted. The witness does not see records in Kafka, so only timestamps show
 * their order; all processes share one clock, and the witness is never early.
 */
function deletions(records: readonly DeploymentRecord[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const { uid, state, changedAt } of records) {
    if (state === 'deleted' && !first.has(uid)) first.set(uid, Date.parse(changedAt));
  }
  return first;
}

function judgeThings({ things, stored }: Evidence): Violation[] {
  const there = new Set(stored.map(({ metadata }) => metadata.uid));
  return things
    .filter(({ uid }) => uid === undefined || !there.has(uid))
    .map(({ uid, name }) => violation('orphan', uid ?? '', `${name} is in the target, but has no object`));
}

/** `shapeOf` returns the part of a spec that must be visible in the target. */
function shapeOf({ kind, spec }: Expected): Record<string, unknown> {
  if (kind === 'Topic') return { partitions: spec.partitions, config: textsOf(spec.config) };
  return { keys: (spec.keys as { name: string }[]).map(({ name }) => name) };
}

const textsOf = (config: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries((config ?? {}) as object).map(([key, value]) => [key, String(value)]));

/** `holds` returns whether `whole` contains everything in `part`; lists must be equal. */
function holds(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    return (
      Array.isArray(whole) && whole.length === part.length && part.every((each, index) => holds(whole[index], each))
    );
  }
  if (typeof part !== 'object' || part === null) return whole === part;
  if (typeof whole !== 'object' || whole === null) return false;
  return Object.entries(part).every(([key, value]) => holds((whole as Record<string, unknown>)[key], value));
}

const text = (value: unknown): string => JSON.stringify(value);
