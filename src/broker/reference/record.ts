/**
 * What a broker knows about one object: the newest deployment it was asked for, how far that got, and what was last said about it.
 * The record lies where the things themselves are, so that a broker keeps nothing of its own and any instance can go on with it.
 *
 * Everything here is a value from a value. A store writes the result only over the very record it was made from (compare and
 * swap), which is why the rules hold for any number of instances: a deployment is claimed once, a claim that a crash left behind
 * is carried out by whoever finds it and is no second claim, and nothing older is ever done after something newer.
 */
import { compareDeployments, parseDeploymentId } from '../deployment-id.ts';
import type { DeploymentRequest, ErrorClass, ReportedPhase, RequestEvent } from '../messages.ts';
import { type Meter, settleMeter } from './usage.ts';

/**
 * `claimed`: to be carried out, perhaps begun. `done`: carried out, and watched from then on. `failed`: it cannot be carried out;
 * not tried again until something newer is asked for. `deleted`: gone; the record stays for a while, so that what is delivered
 * once more is known.
 */
type RecordState = 'claimed' | 'done' | 'failed' | 'deleted';

export interface DeploymentRecord {
  readonly version: 1;
  readonly uid: string;
  readonly deploymentId: string;
  readonly state: RecordState;
  /** What was asked for, so that any instance can carry it out. Credentials in it are encrypted or references. */
  readonly request: DeploymentRequest;
  readonly trace: Trace;
  /** Of the newest report. It never falls, not even from one deployment to the next. */
  readonly sequence: number;
  readonly report: Report;
  /** The newest sequence that the platform is known to have. */
  readonly acknowledged: number;
  /** What the provider remembers of what it made. */
  readonly notes: Readonly<Record<string, string>>;
  readonly meter?: Meter;
  /** `since` of the meter that was told to the platform for good. */
  readonly billed?: number;
  /** The newest claims, the last at the end: each is appended in the same write that makes the claim. */
  readonly ledger: readonly LedgerEntry[];
  readonly changedAt: string;
}

interface LedgerEntry {
  readonly deploymentId: string;
  readonly action: 'Deploy' | 'Delete';
  readonly at: string;
  /** The instance of the broker that claimed it. */
  readonly instance: string;
}

interface Trace {
  readonly subject: string;
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly correlationid?: string;
}

/** What is told, without what every report has. Credentials are added when it is sent: they are never in a record. */
export interface Report {
  readonly phase: ReportedPhase;
  readonly message?: string;
  readonly error?: { readonly class: ErrorClass; readonly code: string; readonly message: string };
  readonly outputs?: Readonly<Record<string, string>>;
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly selector?: string;
  readonly url?: string;
  readonly credentialsRevision?: string;
}

/** More are dropped from the front. */
export const LEDGER_LENGTH = 64;

interface Moment {
  readonly now: number;
  readonly instance: string;
}

type Claim =
  | { readonly outcome: 'accepted'; readonly record: DeploymentRecord }
  /** Nothing is done again: what is known is told again. */
  | { readonly outcome: 'duplicate' }
  /** Something newer was asked for before: nothing is done, and nothing told. */
  | { readonly outcome: 'stale' };

/** What becomes of the record where a deployment or deletion is asked for. */
export function claim(record: DeploymentRecord | undefined, event: RequestEvent, moment: Moment): Claim {
  const { data: request } = event;
  const action = request.action === 'Delete' ? 'Delete' : 'Deploy';
  if (record !== undefined) {
    const order = compareRequests(record, request.deploymentId, action);
    if (order === 0) return { outcome: 'duplicate' };
    if (order > 0) return { outcome: 'stale' };
  }
  const at = new Date(moment.now).toISOString();
  const { deploymentId } = request;
  return {
    outcome: 'accepted',
    record: {
      version: 1,
      uid: request.resource.uid,
      deploymentId,
      state: 'claimed',
      request,
      trace: traceOf(event),
      sequence: nextSequence(record, moment.now),
      report: { phase: 'accepted' },
      acknowledged: record?.acknowledged ?? 0,
      notes: record?.notes ?? {},
      ...(record?.meter === undefined ? {} : { meter: record.meter }),
      ledger: [...(record?.ledger ?? []), { deploymentId, action, at, instance: moment.instance } as const].slice(
        -LEDGER_LENGTH,
      ),
      changedAt: at,
    },
  };
}

export interface Observation {
  readonly state: RecordState;
  readonly report: Report;
  readonly notes?: Readonly<Record<string, string>>;
  readonly meter?: Meter;
}

/** What was seen or done. Returns the same record where nothing is new. */
export function applyObservation(record: DeploymentRecord, observation: Observation, moment: Moment): DeploymentRecord {
  const isNewReport = !isEqual(record.report, observation.report);
  const next: DeploymentRecord = {
    ...record,
    state: observation.state,
    notes: observation.notes ?? record.notes,
    ...(observation.meter === undefined ? {} : { meter: observation.meter }),
    ...(isNewReport ? { report: observation.report, sequence: nextSequence(record, moment.now) } : {}),
  };
  return isEqual(next, record) ? record : { ...next, changedAt: new Date(moment.now).toISOString() };
}

/** What is known is to be told once more, as something new: whoever asks may not have got, or not have kept, what was told before. */
export function queried(record: DeploymentRecord, event: RequestEvent, moment: Moment): DeploymentRecord {
  return {
    ...record,
    sequence: nextSequence(record, moment.now),
    trace: traceOf(event),
    // Keys and addresses of the platform may have changed since.
    request: { ...record.request, replyTo: event.data.replyTo },
    changedAt: new Date(moment.now).toISOString(),
  };
}

/**
 * Of the broker that had it before, once another has taken it over as `deploymentId`: nothing is left to be done or told there, and
 * requests from before are stale.
 */
export function handedOver(record: DeploymentRecord, deploymentId: string, now: number): DeploymentRecord {
  const { meter, ...rest } = record;
  return {
    ...rest,
    deploymentId,
    state: 'deleted',
    request: { ...record.request, action: 'Delete', deploymentId },
    report: { phase: 'deleted', message: `another broker has taken it over as ${deploymentId}` },
    acknowledged: record.sequence,
    notes: {},
    ...(meter === undefined ? {} : { meter: meter.microsPerHour === 0 ? meter : settleMeter(meter, 0, now) }),
    changedAt: new Date(now).toISOString(),
  };
}

export function acknowledge(record: DeploymentRecord, sequence: number): DeploymentRecord {
  return sequence <= record.acknowledged ? record : { ...record, acknowledged: sequence };
}

/** What it cost is told for good. Should it come back to this broker, its meter runs on from there. */
export function markBilled(record: DeploymentRecord, meter: Meter): DeploymentRecord {
  return record.billed === meter.since ? record : { ...record, billed: meter.since };
}

/** The meter whose last word the platform does not have yet; undefined where it has it, or where the thing is still there. */
export const unbilledMeter = ({ state, meter, billed }: DeploymentRecord): Meter | undefined =>
  state === 'deleted' && meter !== undefined && meter.since !== billed ? meter : undefined;

export const isUnreported = (record: DeploymentRecord): boolean => record.acknowledged < record.sequence;

/** Where a report ends a chapter it is worth a write that it was taken; another follows the others soon. */
export const isSettled = ({ phase }: Report): boolean => phase !== 'accepted' && phase !== 'deploying';

/** A tombstone may go once nothing that was said to it can be delivered again. */
export const isExpired = (record: DeploymentRecord, now: number, keptMilliseconds: number): boolean =>
  record.state === 'deleted' && !isUnreported(record) && now - Date.parse(record.changedAt) > keptMilliseconds;

/**
 * At least the time in milliseconds: should a record ever be lost, what is said after it still counts as newer than what was said
 * before.
 */
export function nextSequence(record: { readonly sequence: number } | undefined, now: number): number {
  return Math.max((record?.sequence ?? 0) + 1, now);
}

/** More than 0 where the record is newer. A deletion is newer than the deployment of the same name. */
function compareRequests(record: DeploymentRecord, deploymentId: string, action: 'Deploy' | 'Delete'): number {
  const known = parseDeploymentId(record.deploymentId);
  const asked = parseDeploymentId(deploymentId);
  if (known === undefined || asked === undefined) return 1;
  return compareDeployments(known, asked) || Number(record.request.action === 'Delete') - Number(action === 'Delete');
}

function traceOf({ subject, traceparent, tracestate, correlationid }: RequestEvent): Trace {
  return {
    subject,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(tracestate === undefined ? {} : { tracestate }),
    ...(correlationid === undefined ? {} : { correlationid }),
  };
}

/** Of values that came from JSON or are made here field by field in one order. */
const isEqual = (left: unknown, right: unknown): boolean => stableJson(left) === stableJson(right);

/** JSON with the keys of every object in order: the same for values that are the same. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
