/** Says why a rollout is or is not in progress: the reasons of its conditions, holds, and the progress deadline. */
import { millisecondsOf } from '../../../../api/index.ts';
import { type Condition, getCondition } from '../../../../runtime/index.ts';
import {
  type Facts,
  isTouched,
  listNames,
  phaseOf,
  type Rollout,
  type RolloutStatus,
  toMilliseconds,
  toTimestamp,
} from '../rollout.ts';
import type { ProgressReason } from './finish.ts';
import { pacingOf } from './plan.ts';
import { isAwaitingPromotion, isHeldByPause, stageScope } from './stage-gate.ts';

/** The reason and message of the conditions while the rollout is in progress. */
export function progressReason(
  object: Rollout,
  status: RolloutStatus,
  facts: Facts,
  now: number,
): ProgressReason & { held: boolean } {
  const { spec } = object;
  const held = (reason: string, message: string) => ({ reason, message, held: true });
  if (phaseOf(status) === 'RollingBack') {
    return { reason: 'RollingBack', message: status.rollback?.message ?? '', held: false };
  }
  if (facts.blockedBy !== undefined)
    return held(
      'BlockedByRollback',
      `waiting until the rollback of OperatorDeployment ${facts.blockedBy} has finished`,
    );
  if (spec.paused === true) return held('Paused', 'paused by spec.paused; no new cluster is started');
  if (phaseOf(status) === 'Planning') return planningReason(status);
  if (isAwaitingPromotion(object, status, facts, now)) {
    return held('AwaitingPromotion', `${promotionReadiness(status)}; run \`kidp rollout promote\` to switch traffic`);
  }
  if (isHeldByPause(object, status, facts)) {
    const { away } = stageScope(object, status, facts);
    return held(
      'ClusterPaused',
      `deployed to paused clusters: ${listNames(away)}; run \`kidp clusters resume\` to continue`,
    );
  }
  if (status.heldSince !== undefined) return held('Waiting', 'waiting for a free slot to continue');
  const stages = status.plan?.stages.length ?? 0;
  const { away } = stageScope(object, status, facts);
  const missing = away.length === 0 ? '' : `; not available: ${listNames(away)}`;
  return { reason: phaseOf(status), message: `stage ${status.stage ?? 0} of ${stages}${missing}`, held: false };
}

/** A version that cannot coexist with the old one has 0 replicas before the switch and cannot be validated yet. */
function promotionReadiness({ plan }: RolloutStatus): string {
  const isSeen = plan !== undefined && pacingOf(plan).blueGreen?.coexist === true;
  return isSeen ? 'validation passed' : 'installed with 0 replicas, validated after the switch';
}

function planningReason(status: RolloutStatus): ProgressReason & { held: boolean } {
  if (status.plan === undefined) {
    const blocked = getCondition(status.conditions as Condition[] | undefined, 'Planned');
    if (blocked?.status === 'False') return { reason: blocked.reason, message: blocked.message, held: true };
    return { reason: 'Planning', message: 'computing the plan', held: false };
  }
  const pending = (status.approvals ?? []).filter(({ outcome }) => outcome === 'Pending').map(({ name }) => name);
  if (pending.length > 0) {
    return { reason: 'AwaitingApproval', message: `waiting for Approval ${pending.join(', ')}`, held: true };
  }
  return { reason: 'Waiting', message: 'waiting for a free slot and for its clusters', held: true };
}

/**
 * A rollout that waits for a user and has no running step frees its slot. It needs a slot again before it continues.
 */
export function withHold(object: Rollout, status: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  if (status.heldSince !== undefined || !isWaitingForUser(object, status, facts, now)) return status;
  const isBusy = (status.clusters ?? []).some(({ state }) => state === 'Deploying' || state === 'RollingBack');
  return isBusy ? status : { ...status, heldSince: toTimestamp(now) };
}

/** Whether only a user can let the rollout continue. */
export const isWaitingForUser = (object: Rollout, status: RolloutStatus, facts: Facts, now: number): boolean =>
  object.spec.paused === true ||
  isAwaitingPromotion(object, status, facts, now) ||
  isHeldByPause(object, status, facts);

/** Whether the rollout was held until now: its progress deadline then starts again. */
export function wasHeld({ conditions }: RolloutStatus): boolean {
  const { reason, status } = getCondition(conditions as Condition[] | undefined, 'Progressing') ?? {};
  const held = ['Paused', 'BlockedByRollback', 'AwaitingPromotion', 'ClusterPaused'];
  return status === 'False' && held.includes(reason ?? '');
}

/** Returns a message if the progress deadline is exceeded. Intended waits do not count. */
export function deadlineMessage(object: Rollout, status: RolloutStatus, facts: Facts, now: number): string | undefined {
  const due = progressDeadline(object, status, facts, now);
  if (due === undefined || due > now) return undefined;
  const slow = (status.clusters ?? []).filter((cluster) => isTouched(cluster) && cluster.state !== 'Healthy');
  const listed = slow.map(({ name, message }) => ({ name: message === undefined ? name : `${name} (${message})` }));
  const who = slow.length === 0 ? 'no cluster is available' : listNames(listed);
  return `no progress for ${object.spec.progressDeadline ?? 'PT30M'}: ${who}`;
}

/** The time by which the rollout must have made progress; undefined if it has no deadline now. */
export function progressDeadline(
  object: Rollout,
  status: RolloutStatus,
  facts: Facts,
  now: number,
): number | undefined {
  const { spec } = object;
  const phase = phaseOf(status);
  if (status.plan === undefined || (phase !== 'Deploying' && phase !== 'Validating')) return undefined;
  if (facts.blockedBy !== undefined || status.heldSince !== undefined || isWaitingForUser(object, status, facts, now)) {
    return undefined;
  }
  const pacing = pacingOf(status.plan);
  const soak = millisecondsOf(spec.health?.minimumSoak ?? 'PT0S');
  const waits = (status.clusters ?? [])
    .filter((cluster) => isTouched(cluster) && cluster.deployedAt !== undefined)
    .map(({ deployedAt, switchedAt, stage }) => {
      const period =
        switchedAt === undefined ? pacing.periodMilliseconds(stage) : (pacing.blueGreen?.monitorMilliseconds ?? 0);
      return toMilliseconds(switchedAt ?? deployedAt) + Math.max(period, soak);
    });
  const pause =
    status.stageFinishedAt === undefined ? 0 : toMilliseconds(status.stageFinishedAt) + pacing.pauseMilliseconds;
  const since = Math.max(toMilliseconds(status.progressedAt), pause, ...waits);
  return since + millisecondsOf(spec.progressDeadline ?? 'PT30M');
}
