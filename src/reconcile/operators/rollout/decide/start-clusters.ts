/**
 * Starts the next clusters, as many as the strategy allows at a time. An unavailable cluster does not count against
 * that.
 */

import {
  attemptOf,
  type ClusterStatus,
  type Facts,
  type Rollout,
  type RolloutStatus,
  toMilliseconds,
  toTimestamp,
  updateClusters,
} from '../rollout.ts';
import { recordProgress } from './finish.ts';
import { pacingOf } from './plan.ts';

export function startClusters(object: Rollout, before: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  if (before.plan === undefined) return before;
  const pacing = pacingOf(before.plan);
  const { clusters = [], stage = 1 } = before;
  const isAvailable = (cluster: ClusterStatus) => facts.cluster(cluster.name)?.available === true;
  const takesSlot = (cluster: ClusterStatus) =>
    isAvailable(cluster) && (cluster.state === 'Deploying' || (pacing.oneByOne && cluster.state === 'Validating'));
  const pauseEnds =
    before.stageFinishedAt === undefined ? 0 : toMilliseconds(before.stageFinishedAt) + pacing.pauseMilliseconds;
  const free = pauseEnds > now ? 0 : Math.max(0, pacing.parallel - clusters.filter(takesSlot).length);
  const next = new Set(
    clusters
      .filter((cluster) => cluster.state === 'Pending' && cluster.stage <= stage && isAvailable(cluster))
      .sort((one, other) => one.stage - other.stage)
      .slice(0, free)
      .map(({ name }) => name),
  );
  const attempt = attemptOf(object, 'install');
  const started = updateClusters(before, (cluster) => {
    if (!next.has(cluster.name)) return cluster;
    const { message, ...rest } = cluster;
    return { ...rest, state: 'Deploying' as const, attempt, startedAt: toTimestamp(now) };
  });
  // A cluster that alternates between available and unavailable starts again and again, which is no progress.
  const isFirst = clusters.some(({ name, startedAt }) => next.has(name) && startedAt === undefined);
  const status = isFirst ? recordProgress(started, now) : started;
  return withPhase(status, facts);
}

/** The phase is Deploying while a cluster of the stage is yet to be deployed, and Validating afterwards. */
function withPhase(status: RolloutStatus, facts: Facts): RolloutStatus {
  const stage = (status.clusters ?? []).filter((cluster) => cluster.stage <= (status.stage ?? 1));
  const isOpen = stage.some(
    ({ state, name }) => state === 'Deploying' || (state === 'Pending' && facts.cluster(name)?.available === true),
  );
  const deployed = stage.map(({ deployedAt }) => toMilliseconds(deployedAt)).filter((at) => at > 0);
  const phase = isOpen || deployed.length === 0 ? 'Deploying' : 'Validating';
  const stageDeployedAt = phase === 'Validating' ? toTimestamp(Math.max(...deployed)) : undefined;
  if (phase === status.phase && stageDeployedAt === status.stageDeployedAt) return status;
  const { stageDeployedAt: _, ...rest } = status;
  return { ...rest, phase, ...(stageDeployedAt === undefined ? {} : { stageDeployedAt }) };
}
