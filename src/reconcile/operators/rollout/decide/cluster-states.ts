/** How the clusters of a rollout fare together: who is done, who has failed, and whether anything still goes forward. */
import { millisecondsOf } from '../../../../api/index.ts';
import { type Condition, getCondition } from '../../../../runtime/index.ts';
import {
  type ClusterStatus,
  type Facts,
  hasFailed,
  instantOf,
  isTouched,
  namesOf,
  phaseOf,
  type RollbackReason,
  type Rollout,
  type RolloutStatus,
  timeOf,
  withClusters,
  without,
} from '../rollout.ts';
import { type Outlook, withProgress } from './finish.ts';
import { pacingOf } from './plan.ts';
import { beginClusterRollback, settledRollback } from './rollback.ts';
import { isAwaitingPromotion, isHeldByPause, scopeOf, setAside } from './stage-gate.ts';

/** What time and health alone make of each cluster; what has failed within what is allowed is taken back alone. */
export function settledClusters(object: Rollout, status: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  const { spec } = object;
  const soak = millisecondsOf(spec.health?.minimumSoak ?? 'PT0S');
  const isBlueGreen = status.plan?.strategy === 'BlueGreen';
  const aside = setAside(object, status, facts);
  const settled = withClusters(status, (cluster) => {
    // What nobody looks at is not done: it is, once somebody has looked again.
    if (aside.has(cluster.name)) return unseen(cluster);
    if (cluster.state === 'Deploying' && cluster.preparedAt === undefined && !isHere(cluster, facts)) {
      return deferred(cluster, facts);
    }
    if (cluster.state === 'RollingBack') return settledRollback(object, cluster, now);
    if (cluster.state !== 'Validating' || cluster.healthySince === undefined) return cluster;
    if (isBlueGreen && cluster.switched !== true) return cluster;
    if (timeOf(cluster.healthySince) + soak > now) return cluster;
    return { ...cluster, state: 'Healthy' as const, finishedAt: instantOf(now) };
  });
  const counted = doneCount(settled) > doneCount(status) ? withProgress(settled, now) : settled;
  const failed = (counted.clusters ?? []).filter(hasFailed).length;
  if (failed > (spec.maxFailures ?? 0) || spec.rollbackOnFailure === false) return counted;
  return withClusters(counted, (cluster) =>
    cluster.state === 'Unhealthy' ? beginClusterRollback(object, cluster, now) : cluster,
  );
}

function unseen(cluster: ClusterStatus): ClusterStatus {
  if (cluster.state === 'Validating' && cluster.healthySince === undefined) return cluster;
  return { ...without(cluster, 'healthySince'), state: 'Validating' };
}

/** Back in the line: nothing was changed on it, and it takes no place of others. */
function deferred(cluster: ClusterStatus, facts: Facts): ClusterStatus {
  const { attempt, retryAt, ...rest } = cluster;
  return { ...rest, state: 'Pending', message: facts.cluster(cluster.name)?.why ?? 'it cannot be reached' };
}

const isHere = ({ name }: ClusterStatus, facts: Facts): boolean => facts.cluster(name)?.available === true;

/** Those that were done once: one that is well and unwell in turns goes forward once, or no time would ever run out. */
const doneCount = ({ clusters = [] }: RolloutStatus): number =>
  clusters.filter(({ finishedAt }) => finishedAt !== undefined).length;

/** More clusters have failed than may; undefined otherwise. */
export function failedOf(
  { spec }: Rollout,
  status: RolloutStatus,
): { reason: RollbackReason; message: string } | undefined {
  const failed = (status.clusters ?? []).filter(hasFailed);
  if (failed.length <= (spec.maxFailures ?? 0)) return undefined;
  const first = failed.find(({ state }) => state === 'Unhealthy') ?? failed[0];
  if (first === undefined) return undefined;
  const message = `${first.name}: ${first.message ?? 'it is not well'}`;
  if (first.deployedAt === undefined) return { reason: 'DeployFailed', message };
  return { reason: first.finishedAt === undefined ? 'Unhealthy' : 'RevalidationFailed', message };
}

/** What people are told while it is under way. */
export function outlookOf(
  object: Rollout,
  status: RolloutStatus,
  facts: Facts,
  now: number,
): Outlook & { held: boolean } {
  const { spec } = object;
  const held = (reason: string, message: string) => ({ reason, message, held: true });
  if (phaseOf(status) === 'RollingBack') {
    return { reason: 'RollingBack', message: status.rollback?.message ?? '', held: false };
  }
  if (facts.heldBy !== undefined) return held('Held', `OperatorDeployment ${facts.heldBy} is being rolled back`);
  if (spec.paused === true) return held('Paused', 'nothing new is begun while spec.paused is true');
  if (phaseOf(status) === 'Planning') return planningOutlook(status);
  if (isAwaitingPromotion(object, status, facts, now)) {
    return held('AwaitingPromotion', `${readiness(status)}: \`kidp rollout promote\` switches over`);
  }
  if (isHeldByPause(object, status, facts)) {
    const { away } = scopeOf(object, status, facts);
    return held(
      'ClusterPaused',
      `it was deployed to ${namesOf(away)}, which is paused: \`kidp clusters resume\` lets it go on`,
    );
  }
  if (status.heldSince !== undefined) return held('Waiting', 'it waits for its turn to go on');
  const stages = status.plan?.stages.length ?? 0;
  const { away } = scopeOf(object, status, facts);
  const gap = away.length === 0 ? '' : `, without ${namesOf(away)} for now`;
  return { reason: phaseOf(status), message: `stage ${status.stage ?? 0} of ${stages}${gap}`, held: false };
}

/** What runs beside the old one was watched; what starts when the old one is at 0 could not be. */
function readiness({ plan }: RolloutStatus): string {
  const isSeen = plan !== undefined && pacingOf(plan).blueGreen?.coexist === true;
  return isSeen ? 'validation has passed' : 'it is installed, at 0, and is validated once it works';
}

function planningOutlook(status: RolloutStatus): Outlook & { held: boolean } {
  if (status.plan === undefined) {
    const blocked = getCondition(status.conditions as Condition[] | undefined, 'Planned');
    if (blocked?.status === 'False') return { reason: blocked.reason, message: blocked.message, held: true };
    return { reason: 'Planning', message: 'it is worked out what will be done', held: false };
  }
  const pending = (status.approvals ?? []).filter(({ outcome }) => outcome === 'Pending').map(({ name }) => name);
  if (pending.length > 0) {
    return { reason: 'AwaitingApproval', message: `Approval ${pending.join(', ')} is not decided yet`, held: true };
  }
  return { reason: 'Waiting', message: 'it waits for its turn', held: true };
}

/** One that waits for people, with nothing going on anywhere, gives its place to others. It needs one again before it goes on. */
export function withHold(object: Rollout, status: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  if (status.heldSince !== undefined || !isForPeople(object, status, facts, now)) return status;
  const isBusy = (status.clusters ?? []).some(({ state }) => state === 'Deploying' || state === 'RollingBack');
  return isBusy ? status : { ...status, heldSince: instantOf(now) };
}

/** Only people can let it go on. */
export const isForPeople = (object: Rollout, status: RolloutStatus, facts: Facts, now: number): boolean =>
  object.spec.paused === true ||
  isAwaitingPromotion(object, status, facts, now) ||
  isHeldByPause(object, status, facts);

/** It was held until now: the time that it may go without progress begins anew. */
export function wasHeld({ conditions }: RolloutStatus): boolean {
  const { reason, status } = getCondition(conditions as Condition[] | undefined, 'Progressing') ?? {};
  const held = ['Paused', 'Held', 'AwaitingPromotion', 'ClusterPaused'];
  return status === 'False' && held.includes(reason ?? '');
}

/** Nothing has gone forward for longer than it may: says so. What is waited for on purpose is no delay. */
export function outOfTime(object: Rollout, status: RolloutStatus, facts: Facts, now: number): string | undefined {
  const due = progressDue(object, status, facts, now);
  if (due === undefined || due > now) return undefined;
  const slow = (status.clusters ?? []).filter((cluster) => isTouched(cluster) && cluster.state !== 'Healthy');
  const said = slow.map(({ name, message }) => ({ name: message === undefined ? name : `${name} (${message})` }));
  const who = slow.length === 0 ? 'no cluster could be worked on' : namesOf(said);
  return `nothing went forward for ${object.spec.progressDeadline ?? 'PT30M'}: ${who}`;
}

/** When something must have gone forward; undefined where that is not asked now. */
export function progressDue(object: Rollout, status: RolloutStatus, facts: Facts, now: number): number | undefined {
  const { spec } = object;
  const phase = phaseOf(status);
  if (status.plan === undefined || (phase !== 'Deploying' && phase !== 'Validating')) return undefined;
  if (facts.heldBy !== undefined || status.heldSince !== undefined || isForPeople(object, status, facts, now)) {
    return undefined;
  }
  const pacing = pacingOf(status.plan);
  const soak = millisecondsOf(spec.health?.minimumSoak ?? 'PT0S');
  const waits = (status.clusters ?? [])
    .filter((cluster) => isTouched(cluster) && cluster.deployedAt !== undefined)
    .map(({ deployedAt, switchedAt, stage }) => {
      const period =
        switchedAt === undefined ? pacing.periodMilliseconds(stage) : (pacing.blueGreen?.monitorMilliseconds ?? 0);
      return timeOf(switchedAt ?? deployedAt) + Math.max(period, soak);
    });
  const pause = status.stageFinishedAt === undefined ? 0 : timeOf(status.stageFinishedAt) + pacing.pauseMilliseconds;
  const since = Math.max(timeOf(status.progressedAt), pause, ...waits);
  return since + millisecondsOf(spec.progressDeadline ?? 'PT30M');
}
