/** What a report changes: from the object as it is stored and the report, to an outcome and the status that follows. */
import type { ReportOutcome, StatusReport } from '../../broker/index.ts';
import { compareDeployments, parseDeploymentId } from '../../broker/index.ts';
import { type Condition, getCondition } from '../../runtime/index.ts';
import { backoff, instantOf, millisecondsOf } from './backoff.ts';
import type { Deployable, DeployableStatus, LastReport, Settings } from './deployable.ts';
import { currentReport, describeStatus } from './describe.ts';
import { received } from './outbox.ts';

interface AppliedReport {
  readonly outcome: ReportOutcome;
  /** As it shall be; undefined where nothing is to be written. */
  readonly status?: DeployableStatus;
}

interface ReportContext {
  /** Whose signature was checked. */
  readonly from: string;
  /** Of the event. */
  readonly time: string;
  readonly now: number;
  readonly settings: Settings;
  /** Whether it is known, and about to be written, that a message has arrived. */
  readonly isReceived?: (id: string) => boolean;
  /** Where the connection was put, once it was. */
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
      `${report.deploymentId} is no deployment of this ${object.kind}, whose uid is ${metadata.uid}`,
    );
  }
  if (current === undefined) return refused('unknown-deployment', `nothing of this ${object.kind} was dispatched`);
  if (status.targetRef?.broker !== context.from || report.broker !== context.from) {
    return refused('wrong-broker', `Broker ${context.from} was not handed this ${object.kind}`);
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
 * What follows from a report that nobody believed, and that the broker may not make again: if it would have been news, an answer is
 * awaited from now on, and the broker is asked for it in time. Anybody can make such reports, so they do no more than that: where
 * one is awaited already, nothing. Undefined where nothing is to be written.
 */
export function markReportMissed(object: Deployable, report: StatusReport, now: number): DeployableStatus | undefined {
  const { status = {}, metadata } = object;
  const { deploymentId, targetRef, awaiting } = status;
  const heard = currentReport(status);
  // What is not heard of yet is awaited already, or is as soon as it has been sent.
  if (awaiting !== undefined || heard === undefined) return undefined;
  const isAboutThis = report.resource.uid === metadata.uid && report.deploymentId === deploymentId;
  const isForeign = report.broker === targetRef?.broker && report.sequence > (heard.sequence ?? -1);
  return isAboutThis && isForeign ? { ...status, awaiting: { since: instantOf(now), queries: 0 } } : undefined;
}

/** The first word, where it is known already that the broker has it: nothing that could still come was said before it. */
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
    ...(report.message === undefined ? {} : { message: report.message.slice(0, 1024) }),
    ...errorOf(report),
  };
  const { awaiting, nextAttemptAt, ...rest } = withReceipt(status, now);
  const next: DeployableStatus = { ...rest, lastReport };
  switch (report.phase) {
    case 'accepted':
    case 'deploying':
      return waiting(next, awaiting, now);
    case 'ready':
      // Who was asked to remove something and says that it is there has not removed it yet.
      return status.requested === 'Delete' ? waiting(next, awaiting, now) : ready(object, next, report, context);
    case 'deleted':
      return status.requested === 'Delete' ? next : { ...next, ...tryAgain(status, report, context) };
    case 'failed':
      return lastReport.error?.class === 'transient' ? { ...next, ...tryAgain(status, report, context) } : next;
    case 'drifted':
    case 'absent':
      return { ...next, ...tryAgain(status, report, context) };
  }
}

const waiting = (status: DeployableStatus, awaiting: DeployableStatus['awaiting'], now: number): DeployableStatus => ({
  ...status,
  awaiting: { since: instantOf(now), queries: awaiting?.queries ?? 0 },
});

/** Who reports on it has got it, and who is asked how it fares has answered: nothing is left to send. */
function withReceipt(status: DeployableStatus, now: number): DeployableStatus {
  return (status.outbox ?? []).reduce((before, entry) => received(before, entry, now), status);
}

function errorOf({ phase, error }: StatusReport): Pick<LastReport, 'error'> {
  if (phase !== 'failed') return {};
  const { class: kind = 'transient', code = 'Unspecified', message = '' } = error ?? {};
  return {
    error: { class: kind, code: code.slice(0, 256), ...(message === '' ? {} : { message: message.slice(0, 1024) }) },
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

/** What was well for long is tried again at once after it drifted; whatever comes back soon, later and later. */
function tryAgain(
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
