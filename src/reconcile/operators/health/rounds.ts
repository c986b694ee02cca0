/**
 * `HealthRounds` checks every installation in rounds. Clusters are checked in parallel and independently, so that a
 * slow or unreachable one delays no other. A cluster whose check has not finished when the next round starts skips that
 * round.
 *
 * Clusters take turns, as many at a time as there are connections, so that a connection serves one request after the
 * other. With all clusters at once nearly every request had to open a connection of its own, which took longer than
 * everything else together.
 */
import {
  type Cluster,
  cluster,
  type Operator,
  type OperatorDeployment,
  type OperatorInstallation,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../../api/index.ts';
import {
  type ClusterHealth,
  ClusterMirror,
  type Fleet,
  FleetError,
  type HealthThresholds,
  Semaphore,
  thresholdsOf,
  WatchBudget,
} from '../../../fleet/index.ts';
import {
  ApiError,
  type Client,
  ConnectionError,
  type EventRecorder,
  isConflict,
  isNotFound,
  type Manager,
} from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';
import { applyStatus } from '../../platform/status.ts';
import { type CheckResult, installationStatus, toTimestamp } from './installation-status.ts';
import type { HealthMetrics } from './metrics.ts';
import type { SnapshotProfiles } from './profiles.ts';
import { defaultFailureThreshold } from './revalidation.ts';

interface RoundOptions {
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly health: Pick<ClusterHealth, 'look' | 'forget'>;
  readonly profiles: SnapshotProfiles;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly metrics: HealthMetrics;
  readonly intervalMilliseconds: number;
  /** The maximum of concurrent requests over all clusters. */
  readonly requests: number;
  /** The maximum of concurrent watches over all clusters. */
  readonly watches: number;
  readonly watchFrom: number;
  readonly requestMilliseconds: number;
}

interface RoundSummary {
  readonly clusters: number;
  readonly installations: number;
  readonly milliseconds: number;
}

/** Concurrent checks on one cluster: the number of connections of a fleet session. */
const installationsAtOnce = 4;
/** The length of a turn if other clusters wait. */
const turnMilliseconds = 5_000;
const writesAtOnce = 16;
const fieldManager = 'kidp-health';

export class HealthRounds {
  readonly name = 'operator health';
  readonly leaderOnly = true;
  readonly requests: Semaphore;
  readonly watches: WatchBudget;
  readonly #manager: Manager;
  readonly #options: RoundOptions;
  readonly #turns: Semaphore;
  readonly #writes = new Semaphore(writesAtOnce);
  readonly #mirrors = new Map<string, ClusterMirror>();
  readonly #busy = new Set<string>();

  constructor(manager: Manager, options: RoundOptions) {
    this.#manager = manager;
    this.#options = options;
    this.requests = new Semaphore(options.requests);
    this.#turns = new Semaphore(Math.max(1, Math.floor(options.requests / installationsAtOnce)));
    this.watches = new WatchBudget(options.watches);
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#manager;
    const running = new Set<Promise<unknown>>();
    while (!signal.aborted) {
      const round = this.round(signal).catch((error: unknown) => log.error('health check round failed', { error }));
      running.add(round);
      void round.finally(() => running.delete(round));
      await sleep(clock, this.#options.intervalMilliseconds, signal);
    }
    await Promise.all(running);
    await Promise.all([...this.#mirrors.keys()].map((name) => this.#drop(name)));
  }

  /** Checks all clusters that are not being checked already. */
  async round(signal: AbortSignal): Promise<RoundSummary> {
    const { caches, clock } = this.#manager;
    const start = clock.monotonic();
    const byCluster = Map.groupBy(
      caches.store<OperatorInstallation>(operatorInstallation.resource),
      ({ spec }) => spec.cluster,
    );
    const clusters = caches.store<Cluster>(cluster.resource);
    for (const name of this.#mirrors.keys()) {
      if (!this.#busy.has(name) && !(byCluster.has(name) && clusters.has({ name }))) await this.#drop(name);
    }
    const due = [...byCluster].flatMap(([name, installations]) => {
      const object = clusters.get({ name });
      const gone = object === undefined || object.metadata.deletionTimestamp !== undefined;
      return gone || this.#busy.has(name) ? [] : [{ object, installations }];
    });
    await Promise.all(due.map(({ object, installations }) => this.#visit(object, installations, signal)));
    const milliseconds = clock.monotonic() - start;
    const installations = due.reduce((sum, each) => sum + each.installations.length, 0);
    this.#options.metrics.round({ seconds: milliseconds / 1000, installations });
    return { clusters: due.length, installations, milliseconds };
  }

  async #visit(object: Cluster, installations: readonly OperatorInstallation[], signal: AbortSignal): Promise<void> {
    const { name } = object.metadata;
    const log = this.#manager.log.with({ cluster: name });
    this.#busy.add(name);
    try {
      const mirror = this.#mirrorOf(name);
      const unreachable = await this.#begin(mirror, name, installations, signal);
      const look = async (installation: OperatorInstallation) => {
        if (signal.aborted) return;
        const seen = unreachable ?? (await this.#look(mirror, installation, signal));
        await this.#writes.run(() => this.#writeStatus(installation, seen));
      };
      const left = [...installations];
      if (unreachable !== undefined) await eachOf(left, look);
      while (left.length > 0) await this.#turns.run(() => eachOf(left, look, this.#endOfTurn()));
      await mirror.endRound();
      if (unreachable === undefined && !signal.aborted) await this.#writes.run(() => this.#stamp(object));
    } catch (error) {
      if (!signal.aborted) log.error('failed to check the operators of a cluster', { error });
    } finally {
      this.#busy.delete(name);
    }
  }

  #endOfTurn(): () => boolean {
    const { clock } = this.#manager;
    const end = clock.monotonic() + turnMilliseconds;
    return () => this.#turns.hasWaiters && clock.monotonic() >= end;
  }

  /** Connects to the cluster. Returns the result for all installations if the cluster is unreachable. */
  async #begin(
    mirror: ClusterMirror,
    name: string,
    installations: readonly OperatorInstallation[],
    signal: AbortSignal,
  ): Promise<CheckResult | undefined> {
    try {
      const { client } = await this.#options.fleet.connect(name, { kind: 'observe' }, { signal });
      await mirror.beginRound(client, new Set(installations.map(({ spec }) => spec.namespace)).size);
      return undefined;
    } catch (error) {
      if (error instanceof FleetError) return { state: 'Unknown', message: error.message };
      if (error instanceof ConnectionError || error instanceof ApiError) {
        return { state: 'Unknown', message: 'the API server of the cluster does not respond' };
      }
      throw error;
    }
  }

  async #look(mirror: ClusterMirror, { spec }: OperatorInstallation, signal: AbortSignal): Promise<CheckResult> {
    const { health, profiles, metrics } = this.#options;
    const profile = await profiles.of(spec.snapshot);
    if (profile === undefined) {
      return {
        state: 'Unknown',
        message: 'the snapshot of the installed version no longer exists: roll out a version again',
      };
    }
    const thresholds = this.#thresholds(spec.operator);
    const report = await health.look({
      cluster: spec.cluster,
      objects: mirror,
      client: mirror.writer,
      profile,
      thresholds,
      signal,
    });
    metrics.checked(report.milliseconds / 1000);
    return report;
  }

  #thresholds(name: string): HealthThresholds {
    const known = this.#manager.caches.store<Operator>(operator.resource).get({ name });
    return thresholdsOf(known ?? ({ spec: {} } as Operator));
  }

  /** Writes the status. After a conflict it is computed again from the current object. */
  async #writeStatus(installation: OperatorInstallation, seen: CheckResult): Promise<void> {
    const { recorder, metrics } = this.#options;
    const { clock, leaderClient: client } = this.#manager;
    const threshold = this.#failureThreshold(installation);
    let object = installation;
    for (let tries = 1; ; tries += 1) {
      const now = clock.now();
      const { desired, event } = installationStatus(object, seen, { now, threshold });
      try {
        await applyStatus(client, operatorInstallation.resource, object, desired, { now, fieldManager });
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error) || tries >= 3) throw error;
        const newer = await this.#live(client, object);
        // Another version was installed meanwhile, so the result does not apply.
        if (newer === undefined || newer.metadata.generation !== object.metadata.generation) return;
        object = newer;
        continue;
      }
      if (event === undefined) return;
      recorder.record({ regarding: object, action: 'CheckHealth', ...event });
      if (event.reason === 'OperatorUnhealthy') metrics.alerted(object.spec.operator);
      return;
    }
  }

  async #live(client: Client, { metadata }: OperatorInstallation): Promise<OperatorInstallation | undefined> {
    try {
      return await client.get<OperatorInstallation>(operatorInstallation.resource, { name: metadata.name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #failureThreshold({ spec }: OperatorInstallation): number {
    if (spec.deployment === undefined) return defaultFailureThreshold;
    const deployment = this.#manager.caches
      .store<OperatorDeployment>(operatorDeployment.resource)
      .get({ name: spec.deployment });
    return deployment?.spec.health.failureThreshold ?? defaultFailureThreshold;
  }

  /** Records the time of the check. It is the only write in every round, once for each cluster. */
  async #stamp({ apiVersion, kind, metadata: { name } }: Cluster): Promise<void> {
    const status = { operatorsCheckedTime: toTimestamp(this.#manager.clock.now()) };
    const body = { apiVersion, kind, metadata: { name }, status };
    await this.#manager.leaderClient.apply(cluster.resource, body, {
      subresource: 'status',
      fieldManager,
      force: true,
    });
  }

  #mirrorOf(name: string): ClusterMirror {
    const { watchFrom, requestMilliseconds } = this.#options;
    const { clock } = this.#manager;
    const known = this.#mirrors.get(name);
    if (known !== undefined) return known;
    const mirror = new ClusterMirror({
      gate: this.requests,
      watches: this.watches,
      clock,
      watchFrom,
      requestMilliseconds,
    });
    this.#mirrors.set(name, mirror);
    return mirror;
  }

  async #drop(name: string): Promise<void> {
    const mirror = this.#mirrors.get(name);
    this.#mirrors.delete(name);
    this.#options.health.forget(name);
    await mirror?.stop();
  }
}

/**
 * Works off the list with a few workers until it is empty or `isOver`. Rejects with the first error once all started
 * work has ended.
 */
async function eachOf<T>(
  left: T[],
  work: (item: T) => Promise<void>,
  isOver: () => boolean = () => false,
): Promise<void> {
  const results = await Promise.allSettled(
    Array.from({ length: installationsAtOnce }, async () => {
      for (let item = left.shift(); item !== undefined; item = isOver() ? undefined : left.shift()) await work(item);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
