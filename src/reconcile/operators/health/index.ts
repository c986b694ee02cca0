/**
 * How the operators on all clusters fare, every 30 seconds (requirement 002, FR-OP-005).
 *
 * In: OperatorInstallations, the clusters they are on, and what was rolled out there. Out: the status of OperatorInstallations, counts and
 * the condition `Healthy` of Operators, `Degraded` on deployments that go wrong after they were completed, events and metrics. It must
 * not know how anything is rolled out or taken back.
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
  /** Requests and watches on clusters at once, over all of them: no more than the fleet has connections, or they would wait for those. */
  readonly requests?: number;
  readonly watches?: number;
  /** So many objects of a kind on a cluster, and they are watched instead of listed. */
  readonly watchFrom?: number;
  readonly requestMilliseconds?: number;
  /** How long a completed deployment is taken back where it goes wrong; for blue-green, what it says itself. */
  readonly watchedMilliseconds?: number;
  readonly settleMilliseconds?: number;
}

/** Connections of either sort that rounds never take: whoever rolls out, or looks whether a cluster is there, finds one. */
const leftToRollouts = 8;

/** Runs with the manager, on the leader. What is returned is for who wants a round at once. */
export function addOperatorHealth(manager: Manager, options: OperatorHealthOptions): HealthRounds {
  const metrics = healthMetrics(options.registry);
  const { settleMilliseconds } = options;
  manager.caches.request({ resource: cluster.resource });
  addCounts(manager, { metrics, ...(settleMilliseconds === undefined ? {} : { settleMilliseconds }) });
  addRevalidation(manager, { watchedMilliseconds: options.watchedMilliseconds ?? 24 * 3_600_000 });
  const rounds = new HealthRounds(manager, {
    fleet: options.fleet,
    health: options.health,
    profiles: new SnapshotProfiles(options.snapshots),
    recorder: options.recorder,
    metrics,
    intervalMilliseconds: options.intervalMilliseconds ?? 30_000,
    requests: options.requests ?? connectionLimits.short - leftToRollouts,
    watches: options.watches ?? connectionLimits.watch - leftToRollouts,
    watchFrom: options.watchFrom ?? 100,
    requestMilliseconds: options.requestMilliseconds ?? 10_000,
  });
  manager.add(rounds);
  return rounds;
}
