/**
 * Decides whether a stage has passed and the next one may start. A cluster passes only if a health check at the new
 * revision succeeded after the change and after the whole validation period. Older results never promote a stage.
 */
import { millisecondsOf } from '../../../../api/index.ts';
import {
  attemptOf,
  type ClusterStatus,
  type Facts,
  hasFailed,
  isMonitored,
  listNames,
  type Rollout,
  type RolloutStatus,
  toMilliseconds,
  toTimestamp,
  updateClusters,
} from '../rollout.ts';
import { finishRollout, recordProgress } from './finish.ts';
import { type Pacing, pacingOf } from './plan.ts';

interface Scope {
  /** The clusters of this and earlier stages that must pass. */
  readonly counted: readonly ClusterStatus[];
  /** The clusters that are unavailable and wait, and those that were deployed and are set aside. */
  readonly away: readonly ClusterStatus[];
}

/** A cluster that is rolled back on its own is waited for until that has finished; then it no longer counts. */
export function stageScope(object: Rollout, status: RolloutStatus, facts: Facts): Scope {
  const reached = (status.clusters ?? []).filter(({ stage }) => stage <= (status.stage ?? 0));
  const setAside = setAsideClusters(object, status, facts);
  const isAway = (cluster: ClusterStatus) =>
    setAside.has(cluster.name) || (cluster.state === 'Pending' && facts.cluster(cluster.name)?.available !== true);
  const isExcluded = ({ state }: ClusterStatus) =>
    state === 'Skipped' || state === 'RolledBack' || state === 'Failed' || state === 'Unhealthy';
  return {
    counted: reached.filter((cluster) => !isExcluded(cluster) && !isAway(cluster)),
    away: reached.filter(isAway),
  };
}

/**
 * Lists the clusters that were deployed and are not judged for now: they neither block the stage nor cause a rollback.
 * A paused Cluster is set aside because a user said so. An unreachable one may be unreachable because of the new
 * version, so no more of them are set aside than may fail (spec.maxFailures). More of them block the rollout until the
 * progress deadline.
 */
export function setAsideClusters({ spec }: Rollout, status: RolloutStatus, facts: Facts): ReadonlySet<string> {
  const { plan, clusters = [] } = status;
  // Without health checks a deployed cluster is done.
  const validated = plan !== undefined && pacingOf(plan).healthChecks ? clusters.filter(isMonitored) : [];
  const paused = validated.filter(({ name }) => facts.cluster(name)?.paused === true);
  const lost = validated.filter(({ name }) => {
    const known = facts.cluster(name);
    return known?.available === false && known.paused !== true;
  });
  const mayFail = (spec.maxFailures ?? 0) - clusters.filter(hasFailed).length;
  return new Set([...paused, ...(lost.length <= mayFail ? lost : [])].map(({ name }) => name));
}

/** Whether the only clusters left to judge were deployed and then paused by a user. */
export function isHeldByPause(object: Rollout, status: RolloutStatus, facts: Facts): boolean {
  const { counted, away } = stageScope(object, status, facts);
  if (status.plan === undefined || counted.length > 0 || !away.some(isMonitored)) return false;
  // A strategy that works one cluster at a time continues with the next one.
  const canContinue = pacingOf(status.plan).oneByOne && (status.stage ?? 1) < status.plan.stages.length;
  return !canContinue && away.every(({ name }) => facts.cluster(name)?.paused === true);
}

/**
 * Moves to the switch, the next stage or the end if the gate is open. Returns `failure` if too many health checks of
 * the stage failed.
 */
export function advanceStage(
  object: Rollout,
  status: RolloutStatus,
  facts: Facts,
  now: number,
): { readonly status: RolloutStatus } | { readonly failure: string } {
  if (status.plan === undefined) return { status };
  const pacing = pacingOf(status.plan);
  const scope = stageScope(object, status, facts);
  if (pacing.blueGreen !== undefined && isSwitchOpen(object, status, facts, now)) {
    return { status: startSwitch(object, status, scope, now) };
  }
  if (!isGateOpen(object, status, scope, pacing, now)) return { status };
  const failure = canaryFailure(status) ?? successRateFailure(status, pacing);
  if (failure !== undefined) return { failure };
  return { status: promote(status, scope, facts, now) };
}

function isGateOpen(
  object: Rollout,
  status: RolloutStatus,
  { counted, away }: Scope,
  pacing: Pacing,
  now: number,
): boolean {
  if (counted.some(({ state }) => state !== 'Healthy')) return false;
  // If no cluster of the stage is available, Rolling continues with the next one; every other strategy needs at least
  // one.
  if (counted.length === 0) return away.length === 0 || pacing.oneByOne;
  if (!pacing.healthChecks) return true;
  const validated = validationEnd(object, status, counted, pacing);
  return validated <= now && counted.every((cluster) => hasFreshCheck(object, cluster, validated, now));
}

/** The end of the validation period of the stage; 0 if it has none or a user has promoted it. */
export function validationEnd(
  { spec }: Rollout,
  status: RolloutStatus,
  counted: readonly ClusterStatus[],
  pacing: Pacing,
): number {
  // In a blue-green deployment a promotion shortens the validation before the switch, never the one after it.
  const isPromoted = (spec.promote ?? 0) >= (status.stage ?? 1);
  const ends = counted.map(({ deployedAt, switchedAt }) => {
    if (switchedAt !== undefined) return endOf(switchedAt, pacing.blueGreen?.monitorMilliseconds ?? 0);
    return isPromoted ? 0 : endOf(deployedAt, pacing.periodMilliseconds(status.stage ?? 1));
  });
  return Math.max(0, ...ends);
}

const endOf = (since: string | undefined, milliseconds: number): number =>
  milliseconds === 0 ? 0 : toMilliseconds(since) + milliseconds;

/** The time from which a health check must have passed before the cluster may promote. */
export function finalCheckTime({ spec }: Rollout, cluster: ClusterStatus, validated: number): number {
  const soak = millisecondsOf(spec.health?.minimumSoak ?? 'PT0S');
  return Math.max(
    validated,
    toMilliseconds(cluster.switchedAt ?? cluster.deployedAt),
    toMilliseconds(cluster.healthySince) + soak,
  );
}

/** A manager that was down for longer checks again before it promotes. */
const minimumFreshMilliseconds = 60_000;

/** Whether the last health check passed, at the gate or later, and recently. */
function hasFreshCheck(object: Rollout, cluster: ClusterStatus, validated: number, now: number): boolean {
  if (cluster.healthySince === undefined) return false;
  const oldest = Math.max(minimumFreshMilliseconds, 3 * millisecondsOf(object.spec.health?.interval ?? 'PT30S'));
  const checked = toMilliseconds(cluster.lastCheckedAt);
  return checked >= finalCheckTime(object, cluster, validated) && checked >= now - oldest;
}

/**
 * A canary stage must prove something: if all its clusters failed, the rollout fails even if spec.maxFailures allows as
 * many failures.
 */
function canaryFailure({ plan, stage = 1, clusters = [] }: RolloutStatus): string | undefined {
  if (plan?.strategy !== 'Canary' || stage >= plan.stages.length) return undefined;
  const reached = clusters.filter((cluster) => cluster.stage === stage);
  const failed = reached.filter(({ state }) => state === 'RolledBack' || state === 'Failed' || state === 'Unhealthy');
  if (failed.length === 0 || reached.some(({ state }) => state === 'Healthy')) return undefined;
  return `no cluster of stage ${stage} is healthy: ${listNames(failed)} failed, so the next stage was not started`;
}

/** Compares the share of passed health checks in this stage with the success threshold. Failed clusters count too. */
function successRateFailure(status: RolloutStatus, { successThreshold }: Pacing): string | undefined {
  const stage = (status.clusters ?? []).filter((cluster) => cluster.stage === status.stage);
  const checks = stage.reduce((sum, cluster) => sum + (cluster.checks ?? 0), 0);
  const passed = stage.reduce((sum, cluster) => sum + (cluster.checksPassed ?? 0), 0);
  if (checks === 0 || passed / checks >= successThreshold) return undefined;
  return `only ${passed} of ${checks} health checks passed in stage ${status.stage}, the success threshold is ${successThreshold}`;
}

function promote(status: RolloutStatus, { counted, away }: Scope, facts: Facts, now: number): RolloutStatus {
  const stage = status.stage ?? 1;
  const at = toTimestamp(now);
  if (stage < (status.plan?.stages.length ?? 0)) {
    const { stageDeployedAt, ...rest } = status;
    const wasDeployed = (status.clusters ?? []).some((each) => each.stage === stage && each.deployedAt !== undefined);
    // A stage without a deployment needs no pause afterwards.
    const finished = wasDeployed ? { stageFinishedAt: at } : {};
    return recordProgress({ ...rest, stage: stage + 1, stageStartedAt: at, ...finished }, now);
  }
  const healthy = (status.clusters ?? []).filter(({ state }) => state === 'Healthy').length;
  if (healthy > 0) {
    const message = `healthy on ${healthy} of ${status.clusters?.length ?? 0} clusters`;
    const setAside = updateClusters(status, (cluster) => {
      if (cluster.state !== 'Validating') return cluster;
      const why = facts.cluster(cluster.name)?.why ?? 'unreachable';
      return { ...cluster, message: `deployed, but not fully validated: ${why}` };
    });
    return finishRollout(setAside, 'Completed', { reason: 'Completed', message }, now);
  }
  // Clusters may become available again; the progress deadline limits the wait.
  if (counted.length > 0 || away.length > 0) return status;
  return finishRollout(
    status,
    'Failed',
    { reason: 'NothingDeployed', message: 'no cluster is left to deploy to' },
    now,
  );
}

/** Whether the new side was validated on all clusters and the switch is automatic or promoted. */
function isSwitchOpen(object: Rollout, status: RolloutStatus, facts: Facts, now: number): boolean {
  const { blueGreen } = status.plan === undefined ? {} : pacingOf(status.plan);
  if (blueGreen === undefined || !isValidated(object, status, facts, now)) return false;
  return blueGreen.autoSwitch || (object.spec.promote ?? 0) >= 1;
}

/** Whether everything is ready for the switch and only a promotion is missing. */
export function isAwaitingPromotion(object: Rollout, status: RolloutStatus, facts: Facts, now: number): boolean {
  const { blueGreen } = status.plan === undefined ? {} : pacingOf(status.plan);
  if (blueGreen === undefined || blueGreen.autoSwitch || (object.spec.promote ?? 0) >= 1) return false;
  return isValidated(object, status, facts, now);
}

function isValidated(object: Rollout, status: RolloutStatus, facts: Facts, now: number): boolean {
  if (status.plan === undefined) return false;
  const pacing = pacingOf(status.plan);
  const { counted } = stageScope(object, status, facts);
  const waiting = counted.filter(({ switched }) => switched !== true);
  if (waiting.length === 0 || waiting.some(({ state }) => state !== 'Validating')) return false;
  if (pacing.blueGreen?.coexist !== true) return true;
  const validated = validationEnd(object, status, waiting, pacing);
  return validated <= now && waiting.every((cluster) => hasFreshCheck(object, cluster, validated, now));
}

function startSwitch(object: Rollout, status: RolloutStatus, { counted }: Scope, now: number): RolloutStatus {
  const attempt = attemptOf(object, 'switch');
  const next = updateClusters(status, (cluster) => {
    if (cluster.state !== 'Validating' || cluster.switched === true || !counted.includes(cluster)) return cluster;
    const { healthySince, lastCheckedAt, failuresInRow, message, ...rest } = cluster;
    // `switched: false` records that the switch may have started.
    return { ...rest, state: 'Deploying' as const, attempt, switched: false };
  });
  return recordProgress(next, now);
}
