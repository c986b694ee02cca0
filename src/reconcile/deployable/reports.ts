/** Applies a broker report: from the stored object and the report to an outcome and the new status. */
import type { ReportOutcome, StatusReport } from '../../broker/index.ts';
import { compareDeployments, parseDeploymentId } from '../../broker/index.ts';
import { type Condition, getCondition } from '../../runtime/index.ts';
import { plainLine, plainText } from '../../runtime/internal.ts';
import { backoff, instantOf, millisecondsOf } from './backoff.ts';
import type { Deployable, DeployableStatus, LastReport, Settings } from './deployable.ts';
import { currentReport, describeStatus } from './describe.ts';
import { received } from './outbox.ts';

interface AppliedReport {
  readonly outcome: ReportOutcome;
  /** The new status; undefined if nothing is to be written. */
  readonly status?: DeployableStatus;
}

interface ReportContext {
  /** The broker whose signature was verified. */
  readonly from: string;
  /** The time of the event. */
  readonly time: string;
  readonly now: number;
  readonly settings: Settings;
  /** Whether a message is known to be acknowledged and about to be written. */
  readonly isReceived?: (id: string) => boolean;
  /** The connection Secret, once written. */
  readonly connectionSecret?: DeployableStatus['connectionSecret'];
}

const refused = (code: Extract<ReportOutcome, { result: 'refused' }>['code'], message: string): AppliedReport => ({
  outcome: { result: 'refused', code, message },
});

export function applyReport(object: Deployable, report: StatusReport, context: ReportContext): AppliedReport {
  const { status = {}, metadata } = object;
  const about = parseDeploymentId(report.deploymentId);
  const current = parseDeploymentId(status.deploymentId ?? '');
  if (about === undefined || about.uid !== metadata.uid || report.resource.uid !== metadata.uid) {
    return refused(
      'unknown-object',
      `${report.deploymentId} is not a deployment of this ${object.kind} with uid ${metadata.uid}`,
    );
  }
  if (current === undefined) return refused('unknown-deployment', `this ${object.kind} was never dispatched`);
  if (status.targetRef?.broker !== context.from || report.broker !== context.from) {
    return refused('wrong-broker', `this ${object.kind} was not dispatched to Broker ${context.from}`);
  }
  const order = compareDeployments(about, current);
  if (order > 0) return refused('unknown-deployment', `${report.deploymentId} was never dispatched`);
  if (order < 0) return { outcome: { result: 'stale' } };
  const heard = currentReport(status);
  if (heard !== undefined && report.sequence <= (heard.sequence ?? -1)) {
    return { outcome: { result: report.sequence === heard.sequence ? 'duplicate' : 'stale' } };
  }
  if (isOldNews(report, status, context)) return { outcome: { result: 'applied' } };
  return {
    outcome: { result: 'applied' },
    status: describeStatus(object, after(object, report, context), context.now),
  };
}

/**
 * `markReportMissed` handles a report that failed verification and that the broker might not repeat. If it would have
 * been news, an answer is expected from now on, and the broker is queried in time. Anyone can forge such reports, so
 * they have no further effect: if an answer is expected already, nothing changes. Undefined if nothing is to be
 * written.
 */
export function markReportMissed(object: Deployable, report: StatusReport, now: number): DeployableStatus | undefined {
  const { status = {}, metadata } = object;
  const { deploymentId, targetRef, awaiting } = status;
  const heard = currentReport(status);
  // Without any report yet, an answer is expected already, or will be once the message is sent.
  if (awaiting !== undefined || heard === undefined) return undefined;
  const isAboutThis = report.resource.uid === metadata.uid && report.deploymentId === deploymentId;
  const isForeign = report.broker === targetRef?.broker && report.sequence > (heard.sequence ?? -1);
  return isAboutThis && isForeign ? { ...status, awaiting: { since: instantOf(now), queries: 0 } } : undefined;
}

/** The first report, if the message is known to be acknowledged: it adds nothing. */
const isOldNews = ({ phase }: StatusReport, status: DeployableStatus, { isReceived }: ReportContext): boolean =>
  phase === 'accepted' &&
  currentReport(status) === undefined &&
  (status.outbox ?? []).every(({ id }) => isReceived?.(id) === true) &&
  status.awaiting?.overdue !== true;

function after(object: Deployable, report: StatusReport, context: ReportContext): DeployableStatus {
  const { time, now } = context;
  const { status = {} } = object;
  const lastReport: LastReport = {
    broker: report.broker,
    deploymentId: report.deploymentId,
    sequence: report.sequence,
    time,
    phase: report.phase,
    ...(report.message === undefined ? {} : { message: plainText(report.message).slice(0, 1024) }),
    ...errorOf(report),
  };
  const { awaiting, nextAttemptAt, ...rest } = withReceipt(status, now);
  const next: DeployableStatus = { ...rest, lastReport };
  switch (report.phase) {
    case 'accepted':
    case 'deploying':
      return waiting(next, awaiting, now);
    case 'ready':
      // A broker that reports ready after a delete request has not deleted it yet.
      return status.requested === 'Delete' ? waiting(next, awaiting, now) : ready(object, next, report, context);
    case 'deleted':
      return status.requested === 'Delete' ? next : { ...next, ...retryLater(status, report, context) };
    case 'failed':
      return lastReport.error?.class === 'transient' ? { ...next, ...retryLater(status, report, context) } : next;
    case 'drifted':
    case 'absent':
      return { ...next, ...retryLater(status, report, context) };
  }
}

const waiting = (status: DeployableStatus, awaiting: DeployableStatus['awaiting'], now: number): DeployableStatus => ({
  ...status,
  awaiting: { since: instantOf(now), queries: awaiting?.queries ?? 0 },
});

/** A report implies that the broker received the message and answered the query, so nothing is left to send. */
function withReceipt(status: DeployableStatus, now: number): DeployableStatus {
  return (status.outbox ?? []).reduce((before, entry) => received(before, entry, now), status);
}

function errorOf({ phase, error }: StatusReport): Pick<LastReport, 'error'> {
  if (phase !== 'failed') return {};
  const { class: kind = 'transient', code = 'Unspecified', message = '' } = error ?? {};
  return {
    error: {
      class: kind,
      code: plainLine(code).slice(0, 256),
      ...(message === '' ? {} : { message: plainText(message).slice(0, 1024) }),
    },
  };
}

function ready(
  object: Deployable,
  status: DeployableStatus,
  report: StatusReport,
  context: ReportContext,
): DeployableStatus {
  const generation = parseDeploymentId(report.deploymentId)?.generation ?? 0;
  const { replicas, readyReplicas, selector, url, outputs } = report;
  const ofService = {
    ...(replicas === undefined ? {} : { replicas }),
    ...(readyReplicas === undefined ? {} : { readyReplicas }),
    ...(selector === undefined ? {} : { selector }),
    ...(url === undefined ? {} : { url }),
  };
  return {
    ...status,
    deployedGeneration: generation,
    ...(object.kind === 'Service' ? ofService : {}),
    ...(outputs === undefined ? {} : { outputs }),
    ...(context.connectionSecret === undefined ? {} : { connectionSecret: context.connectionSecret }),
  };
}

/** Drift after a long healthy time is repaired at once; repeated failures back off. */
function retryLater(
  status: DeployableStatus,
  { deploymentId, phase }: StatusReport,
  { now, settings }: ReportContext,
): Pick<DeployableStatus, 'failures' | 'nextAttemptAt'> {
  const deployed = getCondition(status.conditions as Condition[] | undefined, 'Deployed');
  const wasStable =
    deployed?.status === 'True' && now - millisecondsOf(deployed.lastTransitionTime) >= settings.stableMilliseconds;
  const before = wasStable ? 0 : (status.failures ?? 0);
  const wait = phase !== 'failed' && before === 0 ? 0 : backoff(before + 1, deploymentId, settings);
  return { failures: before + 1, nextAttemptAt: instantOf(now + wait) };
}
