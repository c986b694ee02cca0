/**
 * Whether a stage is done and the next may begin. A cluster counts only where it is well at the new revision, found out after the change
 * and after all that it was to be watched for: what was known before never promotes.
 */
import { millisecondsOf } from '../../../../api/index.ts';
import {
  attemptOf,
  type ClusterStatus,
  type Facts,
  hasFailed,
  instantOf,
  isWatched,
  namesOf,
  type Rollout,
  type RolloutStatus,
  timeOf,
  withClusters,
} from '../rollout.ts';
import { ended, withProgress } from './finish.ts';
import { type Pacing, pacingOf } from './plan.ts';

interface Scope {
  /** Those of this stage and the ones before that count, and are or will be worked on. */
  readonly counted: readonly ClusterStatus[];
  /** Those that cannot be worked on now, and wait; and those that were deployed and are set aside. */
  readonly away: readonly ClusterStatus[];
}

/** A cluster that is taken back alone is waited for until it is; what is out does not count. */
export function scopeOf(object: Rollout, status: RolloutStatus, facts: Facts): Scope {
  const reached = (status.clusters ?? []).filter(({ stage }) => stage <= (status.stage ?? 0));
  const aside = setAside(object, status, facts);
  const isAway = (cluster: ClusterStatus) =>
    aside.has(cluster.name) || (cluster.state === 'Pending' && facts.cluster(cluster.name)?.available !== true);
  const isOut = ({ state }: ClusterStatus) =>
    state === 'Skipped' || state === 'RolledBack' || state === 'Failed' || state === 'Unhealthy';
  return {
    counted: reached.filter((cluster) => !isOut(cluster) && !isAway(cluster)),
    away: reached.filter(isAway),
  };
}

/**
 * Clusters that were deployed and are not judged for now: neither do they hold up the others, nor do they take them back. Where somebody
 * has paused the Cluster that is what they have said. One that is out of reach may be so by the fault of what was deployed: as many are
 * gone on without as may fail, more of them hold everything up until the deadline.
 */
export function setAside({ spec }: Rollout, status: RolloutStatus, facts: Facts): ReadonlySet<string> {
  const { plan, clusters = [] } = status;
  // Where nobody looks, what is deployed is done.
  const watched = plan !== undefined && pacingOf(plan).healthChecks ? clusters.filter(isWatched) : [];
  const paused = watched.filter(({ name }) => facts.cluster(name)?.paused === true);
  const lost = watched.filter(({ name }) => {
    const known = facts.cluster(name);
    return known?.available === false && known.paused !== true;
  });
  const mayFail = (spec.maxFailures ?? 0) - clusters.filter(hasFailed).length;
  return new Set([...paused, ...(lost.length <= mayFail ? lost : [])].map(({ name }) => name));
}

/** Nothing is left to judge by but clusters that were deployed and that somebody has paused since. */
export function isHeldByPause(object: Rollout, status: RolloutStatus, facts: Facts): boolean {
  const { counted, away } = scopeOf(object, status, facts);
  if (status.plan === undefined || counted.length > 0 || !away.some(isWatched)) return false;
  // One after the other goes on with the next.
  const goesOn = pacingOf(status.plan).oneByOne && (status.stage ?? 1) < status.plan.stages.length;
  return !goesOn && away.every(({ name }) => facts.cluster(name)?.paused === true);
}

/** Goes on where it may: to the switch, the next stage or the end. Says `failure` where too many checks of the stage have failed. */
export function passed(
  object: Rollout,
  status: RolloutStatus,
  facts: Facts,
  now: number,
): { readonly status: RolloutStatus } | { readonly failure: string } {
  if (status.plan === undefined) return { status };
  const pacing = pacingOf(status.plan);
  const scope = scopeOf(object, status, facts);
  if (pacing.blueGreen !== undefined && isSwitchOpen(object, status, facts, now)) {
    return { status: switching(object, status, scope, now) };
  }
  if (!isOpen(object, status, scope, pacing, now)) return { status };
  const failure = trialFailure(status) ?? shareFailure(status, pacing);
  if (failure !== undefined) return { failure };
  return { status: promoted(status, scope, facts, now) };
}

function isOpen(
  object: Rollout,
  status: RolloutStatus,
  { counted, away }: Scope,
  pacing: Pacing,
  now: number,
): boolean {
  if (counted.some(({ state }) => state !== 'Healthy')) return false;
  // Where nothing of the stage could be worked on: one after the other goes on with the next; what is a trial needs one.
  if (counted.length === 0) return away.length === 0 || pacing.oneByOne;
  if (!pacing.healthChecks) return true;
  const watched = watchedUntil(object, status, counted, pacing);
  return watched <= now && counted.every((cluster) => isFresh(object, cluster, watched, now));
}

/** When the stage has been watched for long enough; 0 where it need not be, or somebody has promoted it. */
export function watchedUntil(
  { spec }: Rollout,
  status: RolloutStatus,
  counted: readonly ClusterStatus[],
  pacing: Pacing,
): number {
  // In a blue-green deployment a promotion cuts short what comes before the switch, never what comes after.
  const isPromoted = (spec.promote ?? 0) >= (status.stage ?? 1);
  const ends = counted.map(({ deployedAt, switchedAt }) => {
    if (switchedAt !== undefined) return endOf(switchedAt, pacing.blueGreen?.monitorMilliseconds ?? 0);
    return isPromoted ? 0 : endOf(deployedAt, pacing.periodMilliseconds(status.stage ?? 1));
  });
  return Math.max(0, ...ends);
}

const endOf = (since: string | undefined, milliseconds: number): number =>
  milliseconds === 0 ? 0 : timeOf(since) + milliseconds;

/** When a cluster has to be looked at once more before it may promote. */
export function gateOf({ spec }: Rollout, cluster: ClusterStatus, watched: number): number {
  const soak = millisecondsOf(spec.health?.minimumSoak ?? 'PT0S');
  return Math.max(watched, timeOf(cluster.switchedAt ?? cluster.deployedAt), timeOf(cluster.healthySince) + soak);
}

/** A manager that was away for long looks again before it goes on. */
const oldestMilliseconds = 60_000;

/** It was well when it was last looked at, which was at the gate or after, and lately. */
function isFresh(object: Rollout, cluster: ClusterStatus, watched: number, now: number): boolean {
  if (cluster.healthySince === undefined) return false;
  const oldest = Math.max(oldestMilliseconds, 3 * millisecondsOf(object.spec.health?.interval ?? 'PT30S'));
  const looked = timeOf(cluster.lastCheckedAt);
  return looked >= gateOf(object, cluster, watched) && looked >= now - oldest;
}

/** A stage of a canary is a trial for those that follow: where none is well and some have failed, however many may, it has shown nothing. */
function trialFailure({ plan, stage = 1, clusters = [] }: RolloutStatus): string | undefined {
  if (plan?.strategy !== 'Canary' || stage >= plan.stages.length) return undefined;
  const reached = clusters.filter((cluster) => cluster.stage === stage);
  const failed = reached.filter(({ state }) => state === 'RolledBack' || state === 'Failed' || state === 'Unhealthy');
  if (failed.length === 0 || reached.some(({ state }) => state === 'Healthy')) return undefined;
  return `none of stage ${stage} is well, so that nobody may follow: ${namesOf(failed)} failed`;
}

/** Of the checks on the clusters of this stage, those that have failed included. */
function shareFailure(status: RolloutStatus, { successThreshold }: Pacing): string | undefined {
  const stage = (status.clusters ?? []).filter((cluster) => cluster.stage === status.stage);
  const checks = stage.reduce((sum, cluster) => sum + (cluster.checks ?? 0), 0);
  const good = stage.reduce((sum, cluster) => sum + (cluster.checksPassed ?? 0), 0);
  if (checks === 0 || good / checks >= successThreshold) return undefined;
  return `only ${good} of ${checks} health checks in stage ${status.stage} went well, the threshold is ${successThreshold}`;
}

function promoted(status: RolloutStatus, { counted, away }: Scope, facts: Facts, now: number): RolloutStatus {
  const stage = status.stage ?? 1;
  const at = instantOf(now);
  if (stage < (status.plan?.stages.length ?? 0)) {
    const { stageDeployedAt, ...rest } = status;
    const wasDeployed = (status.clusters ?? []).some((each) => each.stage === stage && each.deployedAt !== undefined);
    // Where there was nothing to do there is nothing to pause after.
    const finished = wasDeployed ? { stageFinishedAt: at } : {};
    return withProgress({ ...rest, stage: stage + 1, stageStartedAt: at, ...finished }, now);
  }
  const healthy = (status.clusters ?? []).filter(({ state }) => state === 'Healthy').length;
  if (healthy > 0) {
    const message = `it is well on ${healthy} of ${status.clusters?.length ?? 0} clusters`;
    const aside = withClusters(status, (cluster) => {
      if (cluster.state !== 'Validating') return cluster;
      const why = facts.cluster(cluster.name)?.why ?? 'it cannot be reached';
      return { ...cluster, message: `it was deployed, and not looked at to the end: ${why}` };
    });
    return ended(aside, 'Completed', { reason: 'Completed', message }, now);
  }
  // Clusters may come back; whether that takes too long, the deadline says.
  if (counted.length > 0 || away.length > 0) return status;
  return ended(status, 'Failed', { reason: 'NothingDeployed', message: 'no cluster was left to deploy to' }, now);
}

/** All that have the new side have been watched, and those who are to decide have. */
function isSwitchOpen(object: Rollout, status: RolloutStatus, facts: Facts, now: number): boolean {
  const { blueGreen } = status.plan === undefined ? {} : pacingOf(status.plan);
  if (blueGreen === undefined || !isValidated(object, status, facts, now)) return false;
  return blueGreen.autoSwitch || (object.spec.promote ?? 0) >= 1;
}

/** Everything is ready for the switch, and somebody has to say so. */
export function isAwaitingPromotion(object: Rollout, status: RolloutStatus, facts: Facts, now: number): boolean {
  const { blueGreen } = status.plan === undefined ? {} : pacingOf(status.plan);
  if (blueGreen === undefined || blueGreen.autoSwitch || (object.spec.promote ?? 0) >= 1) return false;
  return isValidated(object, status, facts, now);
}

function isValidated(object: Rollout, status: RolloutStatus, facts: Facts, now: number): boolean {
  if (status.plan === undefined) return false;
  const pacing = pacingOf(status.plan);
  const { counted } = scopeOf(object, status, facts);
  const waiting = counted.filter(({ switched }) => switched !== true);
  if (waiting.length === 0 || waiting.some(({ state }) => state !== 'Validating')) return false;
  if (pacing.blueGreen?.coexist !== true) return true;
  const watched = watchedUntil(object, status, waiting, pacing);
  return watched <= now && waiting.every((cluster) => isFresh(object, cluster, watched, now));
}

function switching(object: Rollout, status: RolloutStatus, { counted }: Scope, now: number): RolloutStatus {
  const attempt = attemptOf(object, 'switch');
  const next = withClusters(status, (cluster) => {
    if (cluster.state !== 'Validating' || cluster.switched === true || !counted.includes(cluster)) return cluster;
    const { healthySince, lastCheckedAt, failuresInRow, message, ...rest } = cluster;
    // From here on the other side may have been touched.
    return { ...rest, state: 'Deploying' as const, attempt, switched: false };
  });
  return withProgress(next, now);
}
