/**
 * Checks the health of the operators on all clusters every 30 seconds (docs/requirements.md, 002 FR-OP-005).
 *
 * In: OperatorInstallations, their clusters and snapshots. Out: the status of OperatorInstallations, the counts and the
 * condition `Healthy` of Operators, the condition `Degraded` of completed rollouts that became unhealthy, events and
 * metrics. It must not know how a rollout or a rollback works.
 */
import type { Registry } from 'prom-client';
import { cluster } from '../../../api/index.ts';
import { type ClusterHealth, connectionLimits, type Fleet, type SnapshotStore } from '../../../fleet/index.ts';
import type { EventRecorder, Manager } from '../../../runtime/index.ts';
import { addCounts } from './counts.ts';
import { healthMetrics } from './metrics.ts';
import { SnapshotProfiles } from './profiles.ts';
import { addRevalidation } from './revalidation.ts';
import { HealthRounds } from './rounds.ts';

export { DEGRADED } from './revalidation.ts';
export { HealthRounds } from './rounds.ts';

interface OperatorHealthOptions {
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly health: Pick<ClusterHealth, 'look' | 'forget'>;
  readonly snapshots: Pick<SnapshotStore, 'get'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly registry?: Registry;
  readonly intervalMilliseconds?: number;
  /**
   * The maximum of concurrent requests and watches over all clusters. More than the connections of the fleet would only
   * queue.
   */
  readonly requests?: number;
  readonly watches?: number;
  /** From this number of objects of a kind on a cluster, they are watched instead of listed. */
  readonly watchFrom?: number;
  readonly requestMilliseconds?: number;
  /** How long after its completion an unhealthy rollout is rolled back. Blue-green uses its retentionPeriod. */
  readonly watchedMilliseconds?: number;
  readonly settleMilliseconds?: number;
}

/** Connections of either kind that rounds never use, so that rollouts and probes always find one. */
const reservedConnections = 8;

/** Adds the health checks to a manager; they run on the leader. The result lets tests run a round at once. */
export function addOperatorHealth(manager: Manager, options: OperatorHealthOptions): HealthRounds {
  const metrics = healthMetrics(options.registry);
  const { settleMilliseconds } = options;
  manager.caches.request({ resource: cluster.resource });
  addCounts(manager, { metrics, ...(settleMilliseconds === undefined ? {} : { settleMilliseconds }) });
  addRevalidation(manager, { windowMilliseconds: options.watchedMilliseconds ?? 24 * 3_600_000 });
  const rounds = new HealthRounds(manager, {
    fleet: options.fleet,
    health: options.health,
    profiles: new SnapshotProfiles(options.snapshots),
    recorder: options.recorder,
    metrics,
    intervalMilliseconds: options.intervalMilliseconds ?? 30_000,
    requests: options.requests ?? connectionLimits.short - reservedConnections,
    watches: options.watches ?? connectionLimits.watch - reservedConnections,
    watchFrom: options.watchFrom ?? 100,
    requestMilliseconds: options.requestMilliseconds ?? 10_000,
  });
  manager.add(rounds);
  return rounds;
}
