/** Advances the states of clusters from health and time, and decides whether too many have failed. */
import { millisecondsOf } from '../../../../api/index.ts';
import {
  type ClusterStatus,
  type Facts,
  hasFailed,
  omit,
  type RollbackReason,
  type Rollout,
  type RolloutStatus,
  toMilliseconds,
  toTimestamp,
  updateClusters,
} from '../rollout.ts';
import { recordProgress } from './finish.ts';
import { settleClusterRollback, startClusterRollback } from './rollback.ts';
import { setAsideClusters } from './stage-gate.ts';

/**
 * Advances each cluster. A failed cluster is rolled back on its own if no more have failed than spec.maxFailures
 * allows.
 */
export function advanceClusters(object: Rollout, status: RolloutStatus, facts: Facts, now: number): RolloutStatus {
  const { spec } = object;
  const soak = millisecondsOf(spec.health?.minimumSoak ?? 'PT0S');
  const isBlueGreen = status.plan?.strategy === 'BlueGreen';
  const setAside = setAsideClusters(object, status, facts);
  const settled = updateClusters(status, (cluster) => {
    // A cluster that is not checked at the moment is not Healthy until it is checked again.
    if (setAside.has(cluster.name)) return awaitingCheck(cluster);
    if (cluster.state === 'Deploying' && cluster.preparedAt === undefined && !isAvailable(cluster, facts)) {
      return deferCluster(cluster, facts);
    }
    if (cluster.state === 'RollingBack') return settleClusterRollback(object, cluster, now);
    if (cluster.state !== 'Validating' || cluster.healthySince === undefined) return cluster;
    if (isBlueGreen && cluster.switched !== true) return cluster;
    if (toMilliseconds(cluster.healthySince) + soak > now) return cluster;
    return { ...cluster, state: 'Healthy' as const, finishedAt: toTimestamp(now) };
  });
  const counted = finishedCount(settled) > finishedCount(status) ? recordProgress(settled, now) : settled;
  const failed = (counted.clusters ?? []).filter(hasFailed).length;
  if (failed > (spec.maxFailures ?? 0) || spec.rollbackOnFailure === false) return counted;
  return updateClusters(counted, (cluster) =>
    cluster.state === 'Unhealthy' ? startClusterRollback(object, cluster, now) : cluster,
  );
}

function awaitingCheck(cluster: ClusterStatus): ClusterStatus {
  if (cluster.state === 'Validating' && cluster.healthySince === undefined) return cluster;
  return { ...omit(cluster, 'healthySince'), state: 'Validating' };
}

/** Puts a cluster back to Pending: nothing was changed on it, and it must not block others. */
function deferCluster(cluster: ClusterStatus, facts: Facts): ClusterStatus {
  const { attempt, retryAt, ...rest } = cluster;
  return { ...rest, state: 'Pending', message: facts.cluster(cluster.name)?.why ?? 'unreachable' };
}

const isAvailable = ({ name }: ClusterStatus, facts: Facts): boolean => facts.cluster(name)?.available === true;

/**
 * Counts the clusters that were Healthy once. A flapping cluster counts as progress only once, or the deadline would
 * never expire.
 */
const finishedCount = ({ clusters = [] }: RolloutStatus): number =>
  clusters.filter(({ finishedAt }) => finishedAt !== undefined).length;

/** Returns the cause of a rollback if more clusters have failed than spec.maxFailures allows. */
export function tooManyFailures(
  { spec }: Rollout,
  status: RolloutStatus,
): { reason: RollbackReason; message: string } | undefined {
  const failed = (status.clusters ?? []).filter(hasFailed);
  if (failed.length <= (spec.maxFailures ?? 0)) return undefined;
  const first = failed.find(({ state }) => state === 'Unhealthy') ?? failed[0];
  if (first === undefined) return undefined;
  const message = `cluster ${first.name}: ${first.message ?? 'unhealthy'}`;
  if (first.deployedAt === undefined) return { reason: 'DeployFailed', message };
  return { reason: first.finishedAt === undefined ? 'Unhealthy' : 'RevalidationFailed', message };
}
