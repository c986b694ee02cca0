/**
 * `nextStep` decides what to do about one rollout: it maps the stored object, the facts around it and the time to a
 * status and the actions that follow from it. It is pure, like all files beside it. The status is written by
 * compare-and-swap before any action starts, so it does not matter which replica calls it, how often, or where the last
 * process ended.
 */
import { ROLLOUT_FINALIZER } from '../../../../api/index.ts';
import { hasFinalizer } from '../../../../runtime/index.ts';
import {
  type Facts,
  isFinished,
  isInProgress,
  isTouched,
  phaseOf,
  type RollbackReason,
  type Rollout,
  type RolloutStatus,
  type Step,
} from '../rollout.ts';
import { actionsFor, nextWakeTime } from './actions.ts';
import { clampFutureTimes } from './clock-skew.ts';
import { advanceClusters, tooManyFailures } from './cluster-states.ts';
import { finishRollout, recordProgress, stopRollout } from './finish.ts';
import { deadlineMessage, progressReason, wasHeld, withHold } from './progress.ts';
import { reportStatus } from './report.ts';
import { giveUpRestores, settleRollback, startRollback } from './rollback.ts';
import { advanceStage, stageScope } from './stage-gate.ts';
import { startClusters } from './start-clusters.ts';

/** `outcome` applies the outcome of an action, so that it and its consequences are written together. */
export function nextStep(
  object: Rollout,
  facts: Facts,
  now: number,
  outcome: (object: Rollout) => RolloutStatus = ({ status }) => status ?? {},
): Step {
  const trusted = withTrustedTimes(object, now);
  const decided = settle(trusted, outcome(trusted), facts, now);
  const status = reportStatus(
    object,
    decided,
    progressReason({ ...object, status: decided }, decided, facts, now),
    now,
  );
  const finalizer = finalizerStep(object, status);
  // The finalizer must be on the object before anything starts.
  const actions = finalizer === undefined ? actionsFor({ ...object, status }, facts, now) : [];
  const wakeAt = nextWakeTime({ ...object, status }, facts, now);
  return {
    status,
    actions,
    ...(finalizer === undefined ? {} : { finalizer }),
    ...(wakeAt === undefined ? {} : { wakeAt }),
  };
}

function withTrustedTimes(object: Rollout, now: number): Rollout {
  const { status = {} } = object;
  // A finished rollout waits for no time.
  const trusted = isFinished(status) ? status : clampFutureTimes(status, now);
  return trusted === status ? object : { ...object, status: trusted };
}

/** Decides repeatedly until nothing changes any more. */
function settle(object: Rollout, outcome: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  let status = outcome;
  // A correct decision needs no more rounds than there are stages; the bound prevents an endless loop after a mistake.
  for (let rounds = 0; rounds < 2_000; rounds += 1) {
    const next = decide({ ...object, status }, facts, now);
    if (next === status) break;
    status = next;
  }
  return status;
}

function finalizerStep(object: Rollout, status: RolloutStatus): Step['finalizer'] {
  const isOn = hasFinalizer(object, ROLLOUT_FINALIZER);
  const isDeleted = object.metadata.deletionTimestamp !== undefined;
  const isHeld = status.plan !== undefined && !isFinished(status) && !(isDeleted && !isInProgress(status));
  if (isOn === isHeld) return undefined;
  if (isHeld) return isDeleted ? undefined : 'add';
  return 'remove';
}

function decide(object: Rollout, facts: Facts, now: number): RolloutStatus {
  const status = object.status ?? {};
  switch (phaseOf(status)) {
    case 'Planning':
      return planning(object, status, facts, now);
    case 'Deploying':
    case 'Validating':
      return inProgress(object, status, facts, now);
    case 'RollingBack':
      return settleRollback(object, skipRemovedClusters(status, facts, now), now);
    case 'Completed':
    case 'Failed':
      return status;
  }
}

function planning({ spec, metadata }: Rollout, status: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  if (metadata.deletionTimestamp !== undefined) return status;
  if (spec.abort === true || spec.rollback === true) {
    return finishRollout(status, 'Failed', { reason: 'Aborted', message: 'aborted before anything was deployed' }, now);
  }
  const approvals = (status.approvals ?? []).map((each) => {
    // A decision is final: deleting the Approval later does not revoke it.
    const outcome = each.outcome === 'Pending' ? (facts.approval(each.name) ?? 'Pending') : each.outcome;
    return outcome === each.outcome ? each : { ...each, outcome };
  });
  const changed = approvals.some((each, index) => each !== status.approvals?.[index]);
  const known = changed ? { ...status, approvals } : status;
  const rejected = approvals.find(({ outcome }) => outcome === 'Rejected');
  if (rejected === undefined) return known;
  const message = `Approval ${rejected.name} was rejected; nothing was deployed`;
  return finishRollout(known, 'Failed', { reason: 'ApprovalRejected', message }, now);
}

function inProgress(object: Rollout, before: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  const { spec, metadata } = object;
  let status = advanceClusters(object, skipRemovedClusters(before, facts, now), facts, now);
  const rollBack = (reason: RollbackReason, message: string) => startRollback(object, status, reason, message, now);
  if (spec.rollback === true) return rollBack('Requested', 'requested by spec.rollback');
  if (spec.abort === true) {
    return stopRollout(
      object,
      status,
      { reason: 'Aborted', message: 'aborted by spec.abort; every cluster keeps its current version' },
      now,
    );
  }
  if (metadata.deletionTimestamp !== undefined) return rollBack('Deleted', 'the OperatorDeployment is being deleted');
  const failure = tooManyFailures(object, status);
  if (failure !== undefined) {
    if (spec.rollbackOnFailure !== false) return rollBack(failure.reason, failure.message);
    return stopRollout(object, status, { reason: failure.reason, message: failure.message }, now);
  }
  const isHeld = spec.paused === true || facts.blockedBy !== undefined || status.heldSince !== undefined;
  if (!isHeld && wasHeld(status)) status = recordProgress(status, now);
  const gate = isHeld ? { status } : advanceStage(object, status, facts, now);
  if ('failure' in gate) {
    if (spec.rollbackOnFailure !== false) return rollBack('Unhealthy', gate.failure);
    return stopRollout(object, status, { reason: 'Unhealthy', message: gate.failure }, now);
  }
  status = gate.status;
  if (isFinished(status)) return status;
  if (!isHeld) status = startClusters(object, status, facts, now);
  status = withHold(object, status, facts, now);
  const late = isHeld ? undefined : deadlineMessage(object, status, facts, now);
  if (late === undefined) return status;
  const givenUp = giveUpRestores(status, stageScope(object, status, facts).counted, now);
  if (givenUp !== status) return recordProgress(givenUp, now);
  if (spec.rollbackOnFailure !== false) return rollBack('ProgressDeadline', late);
  return stopRollout(object, status, { reason: 'ProgressDeadline', message: late }, now);
}

/** Skips clusters whose Cluster object was deleted, or deleted and created again. */
function skipRemovedClusters(status: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  const clusters = (status.clusters ?? []).map((cluster) => {
    if (cluster.state === 'Skipped' || cluster.state === 'RolledBack' || cluster.state === 'Failed') return cluster;
    const known = facts.cluster(cluster.name);
    if (known !== undefined && (cluster.uid === undefined || cluster.uid === known.uid)) return cluster;
    const message = isTouched(cluster)
      ? 'Cluster was removed during the rollout'
      : 'Cluster was removed before its turn';
    return { ...cluster, state: 'Skipped' as const, finishedAt: new Date(now).toISOString(), message };
  });
  return clusters.every((cluster, index) => cluster === status.clusters?.[index]) ? status : { ...status, clusters };
}
