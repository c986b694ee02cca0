/**
 * The record of one object: the newest deployment that was requested, its progress, and the last report. Records are
 * stored next to the deployments, so a broker has no state of its own and any instance can continue.
 *
 * All functions here are pure. A store writes a result only over the record it was computed from (compare and swap), so
 * the rules hold for any number of instances: a deployment is claimed once, a claim that a crash left behind is carried
 * out by whichever instance finds it, and nothing older is carried out after something newer.
 */
import { compareDeployments, parseDeploymentId } from '../deployment-id.ts';
import type { DeploymentRequest, ErrorClass, ReportedPhase, RequestEvent } from '../messages.ts';
import { type Meter, settleMeter } from './usage.ts';

/**
 * `claimed`: to be carried out, perhaps started. `done`: carried out, and watched from then on. `failed`: cannot be
 * carried out; not retried until a newer request. `deleted`: removed; the record is kept for a while to recognise
 * redelivered requests.
 */
type RecordState = 'claimed' | 'done' | 'failed' | 'deleted';

export interface DeploymentRecord {
  readonly version: 1;
  readonly uid: string;
  readonly deploymentId: string;
  readonly state: RecordState;
  /** The request, so that any instance can carry it out. Its credentials are encrypted or references. */
  readonly request: DeploymentRequest;
  readonly trace: Trace;
  /** The sequence of the newest report. It never decreases, not even from one deployment to the next. */
  readonly sequence: number;
  readonly report: Report;
  /** The newest sequence that the platform has acknowledged. */
  readonly acknowledged: number;
  /** Notes of the provider on what it created. */
  readonly notes: Readonly<Record<string, string>>;
  readonly meter?: Meter;
  /** `since` of the meter whose final amount the platform has acknowledged. */
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

/**
 * A report without the fields that every report has. Credentials are added when it is sent: they are never in a record.
 */
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

/** Older entries are dropped. */
export const LEDGER_LENGTH = 64;

interface Moment {
  readonly now: number;
  readonly instance: string;
}

type Claim =
  | { readonly outcome: 'accepted'; readonly record: DeploymentRecord }
  /** Nothing is carried out again; the current state is reported again. */
  | { readonly outcome: 'duplicate' }
  /** A newer request exists: nothing is carried out or reported. */
  | { readonly outcome: 'stale' };

/** Decides what a request for a deployment or deletion does to the record. */
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

/** Applies an observation. Returns the same record if nothing changed. */
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

/**
 * Marks the current state to be reported with a new sequence: the platform might not have received or kept the last
 * report.
 */
export function queried(record: DeploymentRecord, event: RequestEvent, moment: Moment): DeploymentRecord {
  return {
    ...record,
    sequence: nextSequence(record, moment.now),
    trace: traceOf(event),
    // The keys and addresses of the platform may have changed.
    request: { ...record.request, replyTo: event.data.replyTo },
    changedAt: new Date(moment.now).toISOString(),
  };
}

/**
 * The record of a former broker once another broker has taken the object over as `deploymentId`: nothing is left to
 * carry out or report, and older requests are stale.
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

/** Marks the final amount as reported. If the object returns to this broker, its meter continues from there. */
export function markBilled(record: DeploymentRecord, meter: Meter): DeploymentRecord {
  return record.billed === meter.since ? record : { ...record, billed: meter.since };
}

/** The meter whose final amount is not reported yet; undefined if it is, or if the deployment still exists. */
export const unbilledMeter = ({ state, meter, billed }: DeploymentRecord): Meter | undefined =>
  state === 'deleted' && meter !== undefined && meter.since !== billed ? meter : undefined;

export const isUnreported = (record: DeploymentRecord): boolean => record.acknowledged < record.sequence;

/** Whether the acknowledgement of a report is worth a write: after the other phases another report follows soon. */
export const isSettled = ({ phase }: Report): boolean => phase !== 'accepted' && phase !== 'deploying';

/** Whether a tombstone can be dropped: no request for it can be redelivered any more. */
export const isExpired = (record: DeploymentRecord, now: number, keptMilliseconds: number): boolean =>
  record.state === 'deleted' && !isUnreported(record) && now - Date.parse(record.changedAt) > keptMilliseconds;

/**
 * The next sequence, at least the time in milliseconds: if a record is ever lost, later reports still count as newer.
 */
export function nextSequence(record: { readonly sequence: number } | undefined, now: number): number {
  return Math.max((record?.sequence ?? 0) + 1, now);
}

/** Returns a positive number if the record is newer. A deletion is newer than the deployment with the same id. */
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

/** Compares two JSON values. */
const isEqual = (left: unknown, right: unknown): boolean => stableJson(left) === stableJson(right);

/** JSON with sorted keys: equal values give equal strings. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
