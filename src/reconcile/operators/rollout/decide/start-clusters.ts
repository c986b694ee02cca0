/** Which clusters are begun now, as far as the strategy has places for them. One that cannot be worked on takes none. */

import {
  attemptOf,
  type ClusterStatus,
  type Facts,
  instantOf,
  type Rollout,
  type RolloutStatus,
  timeOf,
  withClusters,
} from '../rollout.ts';
import { withProgress } from './finish.ts';
import { pacingOf } from './plan.ts';

export function begun(object: Rollout, before: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  if (before.plan === undefined) return before;
  const pacing = pacingOf(before.plan);
  const { clusters = [], stage = 1 } = before;
  const isHere = (cluster: ClusterStatus) => facts.cluster(cluster.name)?.available === true;
  const takesPlace = (cluster: ClusterStatus) =>
    isHere(cluster) && (cluster.state === 'Deploying' || (pacing.oneByOne && cluster.state === 'Validating'));
  const pauseEnds =
    before.stageFinishedAt === undefined ? 0 : timeOf(before.stageFinishedAt) + pacing.pauseMilliseconds;
  const free = pauseEnds > now ? 0 : Math.max(0, pacing.parallel - clusters.filter(takesPlace).length);
  const next = new Set(
    clusters
      .filter((cluster) => cluster.state === 'Pending' && cluster.stage <= stage && isHere(cluster))
      .sort((one, other) => one.stage - other.stage)
      .slice(0, free)
      .map(({ name }) => name),
  );
  const attempt = attemptOf(object, 'install');
  const started = withClusters(before, (cluster) => {
    if (!next.has(cluster.name)) return cluster;
    const { message, ...rest } = cluster;
    return { ...rest, state: 'Deploying' as const, attempt, startedAt: instantOf(now) };
  });
  // One that comes and goes is begun again and again, which is no progress.
  const isFirst = clusters.some(({ name, startedAt }) => next.has(name) && startedAt === undefined);
  const status = isFirst ? withProgress(started, now) : started;
  return withPhase(status, facts);
}

/** Deploying while anything of the stage is yet to be deployed, Validating while it is only watched. */
function withPhase(status: RolloutStatus, facts: Facts): RolloutStatus {
  const stage = (status.clusters ?? []).filter((cluster) => cluster.stage <= (status.stage ?? 1));
  const isOpen = stage.some(
    ({ state, name }) => state === 'Deploying' || (state === 'Pending' && facts.cluster(name)?.available === true),
  );
  const deployed = stage.map(({ deployedAt }) => timeOf(deployedAt)).filter((at) => at > 0);
  const phase = isOpen || deployed.length === 0 ? 'Deploying' : 'Validating';
  const stageDeployedAt = phase === 'Validating' ? instantOf(Math.max(...deployed)) : undefined;
  if (phase === status.phase && stageDeployedAt === status.stageDeployedAt) return status;
  const { stageDeployedAt: _, ...rest } = status;
  return { ...rest, phase, ...(stageDeployedAt === undefined ? {} : { stageDeployedAt }) };
}
