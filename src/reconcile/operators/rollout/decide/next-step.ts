/**
 * What is to be done about one rollout: from the object as it is stored, what surrounds it and the time, to a status and the acts that
 * follow from it. Everything that decides is here or in the files beside it, is a value from values, and is written by compare-and-swap
 * before anything is begun. So it does not matter who asks, how often, or where the last one was cut off.
 */
import { ROLLOUT_FINALIZER } from '../../../../api/index.ts';
import { hasFinalizer } from '../../../../runtime/index.ts';
import {
  type Facts,
  isFinished,
  isTouched,
  isUnderWay,
  phaseOf,
  type RollbackReason,
  type Rollout,
  type RolloutStatus,
  type Step,
} from '../rollout.ts';
import { actsOf, nextMoment } from './actions.ts';
import { withoutFuture } from './clock-skew.ts';
import { failedOf, outlookOf, outOfTime, settledClusters, wasHeld, withHold } from './cluster-states.ts';
import { ended, stopped, withProgress } from './finish.ts';
import { described } from './report.ts';
import { beginRollback, givenUp, rollbackSettled } from './rollback.ts';
import { passed, scopeOf } from './stage-gate.ts';
import { begun } from './start-clusters.ts';

/** `outcome`: what an act has come to. It is taken in together with what follows from it, in one write. */
export function nextStep(
  object: Rollout,
  facts: Facts,
  now: number,
  outcome: (object: Rollout) => RolloutStatus = ({ status }) => status ?? {},
): Step {
  const trusted = withTrustedTimes(object, now);
  const decided = settled(trusted, outcome(trusted), facts, now);
  const status = described(object, decided, outlookOf({ ...object, status: decided }, decided, facts, now), now);
  const finalizer = finalizerStep(object, status);
  // What holds the object must be on it before anything is begun.
  const acts = finalizer === undefined ? actsOf({ ...object, status }, facts, now) : [];
  const wakeAt = nextMoment({ ...object, status }, facts, now);
  return {
    status,
    acts,
    ...(finalizer === undefined ? {} : { finalizer }),
    ...(wakeAt === undefined ? {} : { wakeAt }),
  };
}

function withTrustedTimes(object: Rollout, now: number): Rollout {
  const { status = {} } = object;
  // What has ended waits for nothing.
  const trusted = isFinished(status) ? status : withoutFuture(status, now);
  return trusted === status ? object : { ...object, status: trusted };
}

/** One thing leads to the next: until nothing more follows. */
function settled(object: Rollout, outcome: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  let status = outcome;
  // No more often than there are stages; the bound only keeps a mistake from going round for ever.
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
  const isHeld = status.plan !== undefined && !isFinished(status) && !(isDeleted && !isUnderWay(status));
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
      return underWay(object, status, facts, now);
    case 'RollingBack':
      return rollbackSettled(object, skipped(status, facts, now), now);
    case 'Completed':
    case 'Failed':
      return status;
  }
}

function planning({ spec, metadata }: Rollout, status: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  if (metadata.deletionTimestamp !== undefined) return status;
  if (spec.abort === true || spec.rollback === true) {
    return ended(status, 'Failed', { reason: 'Aborted', message: 'it was ended before anything was begun' }, now);
  }
  const approvals = (status.approvals ?? []).map((each) => {
    // What was decided stays decided: an Approval that is deleted later takes nothing back.
    const outcome = each.outcome === 'Pending' ? (facts.approval(each.name) ?? 'Pending') : each.outcome;
    return outcome === each.outcome ? each : { ...each, outcome };
  });
  const changed = approvals.some((each, index) => each !== status.approvals?.[index]);
  const known = changed ? { ...status, approvals } : status;
  const rejected = approvals.find(({ outcome }) => outcome === 'Rejected');
  if (rejected === undefined) return known;
  const message = `Approval ${rejected.name} was rejected: nothing was begun`;
  return ended(known, 'Failed', { reason: 'ApprovalRejected', message }, now);
}

function underWay(object: Rollout, before: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  const { spec, metadata } = object;
  let status = settledClusters(object, skipped(before, facts, now), facts, now);
  const rollBack = (reason: RollbackReason, message: string) => beginRollback(object, status, reason, message, now);
  if (spec.rollback === true) return rollBack('Requested', 'somebody has asked for it');
  if (spec.abort === true) {
    return stopped(
      object,
      status,
      { reason: 'Aborted', message: 'it was aborted: every cluster is left as it is' },
      now,
    );
  }
  if (metadata.deletionTimestamp !== undefined) return rollBack('Deleted', 'the OperatorDeployment is being deleted');
  const failure = failedOf(object, status);
  if (failure !== undefined) {
    if (spec.rollbackOnFailure !== false) return rollBack(failure.reason, failure.message);
    return stopped(object, status, { reason: failure.reason, message: failure.message }, now);
  }
  const isHeld = spec.paused === true || facts.heldBy !== undefined || status.heldSince !== undefined;
  if (!isHeld && wasHeld(status)) status = withProgress(status, now);
  const gate = isHeld ? { status } : passed(object, status, facts, now);
  if ('failure' in gate) {
    if (spec.rollbackOnFailure !== false) return rollBack('Unhealthy', gate.failure);
    return stopped(object, status, { reason: 'Unhealthy', message: gate.failure }, now);
  }
  status = gate.status;
  if (isFinished(status)) return status;
  if (!isHeld) status = begun(object, status, facts, now);
  status = withHold(object, status, facts, now);
  const late = isHeld ? undefined : outOfTime(object, status, facts, now);
  if (late === undefined) return status;
  const without = givenUp(status, scopeOf(object, status, facts).counted, now);
  if (without !== status) return withProgress(without, now);
  if (spec.rollbackOnFailure !== false) return rollBack('ProgressDeadline', late);
  return stopped(object, status, { reason: 'ProgressDeadline', message: late }, now);
}

/** A cluster that is gone, or is another one of the same name, has nothing to do with it any more. */
function skipped(status: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  const clusters = (status.clusters ?? []).map((cluster) => {
    if (cluster.state === 'Skipped' || cluster.state === 'RolledBack' || cluster.state === 'Failed') return cluster;
    const known = facts.cluster(cluster.name);
    if (known !== undefined && (cluster.uid === undefined || cluster.uid === known.uid)) return cluster;
    const message = isTouched(cluster)
      ? 'the Cluster was removed under way'
      : 'the Cluster was removed before its turn';
    return { ...cluster, state: 'Skipped' as const, finishedAt: new Date(now).toISOString(), message };
  });
  return clusters.every((cluster, index) => cluster === status.clusters?.[index]) ? status : { ...status, clusters };
}
