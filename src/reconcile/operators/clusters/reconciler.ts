/**
 * Reconciles Clusters: probes their credentials, reachability and Kubernetes version every minute, and cleans up when
 * they are deleted (docs/requirements.md, 002 FR-OP-002).
 */
import { type Cluster, cluster as clusterKind, ERASE_FINALIZER } from '../../../api/index.ts';
import {
  type ManagedFleet,
  publishSealingKey,
  type SealingKeys,
  type SecretObject,
  sealedSecretName,
  sealedSecretSelector,
} from '../../../fleet/index.ts';
import {
  addFinalizer,
  type Client,
  controllerManagedBy,
  type EventRecorder,
  finalize,
  generationChanged,
  hasFinalizer,
  isConflict,
  type Manager,
  type ObjectKey,
} from '../../../runtime/index.ts';
import { coreSecrets } from '../../../runtime/internal.ts';
import { recordReadyEvent } from '../../platform/ready-event.ts';
import { applyStatus } from '../../platform/status.ts';
import { eraseCluster } from './erase.ts';
import { clusterHealth, type ProbeResult } from './health.ts';
import { maintenance } from './maintenance.ts';
import { probeCluster } from './probe.ts';
import { eraseUnclaimed } from './unclaimed.ts';

export interface ClusterReconcilerOptions {
  readonly fleet: ManagedFleet;
  readonly keys: SealingKeys;
  readonly systemNamespace: string;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** The probe interval. 60 s by default. */
  readonly intervalMilliseconds?: number;
  /** The timeout of a probe. 10 s by default. */
  readonly timeoutMilliseconds?: number;
  /** How long the cleanup of a deleted, unresponsive Cluster is retried. 5 minutes by default. */
  readonly erasePatienceMilliseconds?: number;
  /** How long a sealed kubeconfig may exist without a Cluster. One hour by default. */
  readonly unclaimedMilliseconds?: number;
  /** Called once for each new Cluster. */
  readonly onRegistered?: () => void;
}

const fieldManager = 'kidp-clusters';

export function addClusterReconciler(manager: Manager, options: ClusterReconcilerOptions): void {
  const { fleet, keys, systemNamespace, recorder, timeoutMilliseconds = 10_000 } = options;
  const interval = options.intervalMilliseconds ?? 60_000;
  const { clock } = manager;
  const log = manager.log.with({ controller: 'clusters' });
  /** The last probed state, by uid: a change is probed at once, not only after the interval. */
  const probed = new Map<string, string>();

  const sealedSecrets = { namespace: systemNamespace, fieldSelector: sealedSecretSelector };
  const publish = async () => {
    const { sealing } = await keys.current();
    if (!(await publishSealingKey(manager.leaderClient, systemNamespace, sealing))) return;
    log.info('sealing key published', { keyId: sealing.id });
  };
  const erase = () =>
    eraseUnclaimed({
      client: manager.leaderClient,
      secrets: manager.caches.store<SecretObject>(coreSecrets, sealedSecrets).list(),
      clusters: manager.caches.store<Cluster>(clusterKind.resource).list(),
      now: clock.now(),
      patienceMilliseconds: options.unclaimedMilliseconds ?? 3_600_000,
      log,
    });
  const tasks = [
    { name: 'publish the sealing key', run: publish },
    { name: 'delete unclaimed kubeconfigs', run: erase },
  ];
  manager.add(maintenance({ tasks, clock, log, intervalMilliseconds: interval }));
  const ofSecret = ({ metadata }: SecretObject): ObjectKey[] =>
    manager.caches
      .store<Cluster>(clusterKind.resource)
      .list()
      .filter((each) => sealedSecretName(each) === metadata.name)
      .map((each) => ({ name: each.metadata.name }));

  controllerManagedBy(manager, 'clusters')
    // Status changes are ignored: every reconcile writes the status.
    .for<Cluster>(clusterKind.resource, { predicates: [generationChanged] })
    .watches<SecretObject>(coreSecrets, ofSecret, sealedSecrets)
    // Unresponsive clusters must not block the others.
    .withOptions({ maxConcurrentReconciles: 16 })
    .complete(async ({ name }, { client, read }) => {
      const cached = await read.get<Cluster>(clusterKind.resource, { name });
      if (cached === undefined) {
        fleet.forget(name);
        return;
      }
      if (cached.metadata.deletionTimestamp !== undefined) {
        if (!hasFinalizer(cached, ERASE_FINALIZER)) return;
        const finalization = await finalize(client, clusterKind.resource, cached, ERASE_FINALIZER, (cluster) =>
          eraseCluster(cluster, {
            client,
            fleet,
            recorder,
            systemNamespace,
            now: clock.now(),
            patienceMilliseconds: options.erasePatienceMilliseconds ?? 300_000,
          }),
        );
        if (finalization.state !== 'pending') probed.delete(cached.metadata.uid ?? '');
        return finalization.state === 'pending' ? finalization : undefined;
      }
      const object = await addFinalizer(client, clusterKind.resource, cached, ERASE_FINALIZER);
      if (object !== cached) options.onRegistered?.();
      const { uid = '', generation = 0 } = object.metadata;
      const secret = manager.caches
        .store<SecretObject>(coreSecrets, sealedSecrets)
        .get({ namespace: systemNamespace, name: sealedSecretName(object) });
      const seen = `${generation}/${secret?.metadata.uid ?? ''}/${secret?.metadata.resourceVersion ?? ''}`;
      const due = Date.parse(object.status?.lastCheckedTime ?? '') + interval - clock.now();
      if (probed.get(uid) === seen && due > 0) return { requeueAfterMilliseconds: Math.min(due, interval) };
      const result = await probeCluster(object, {
        source: { client, systemNamespace, keys },
        fleet,
        clock,
        log,
        timeoutMilliseconds,
      });
      await writeStatus(object, result, { client, recorder, now: clock.now() });
      probed.set(uid, seen);
      return { requeueAfterMilliseconds: interval };
    });
}

/** Writes the status. Other writers may have changed it during the probe, which is no reason to probe again. */
async function writeStatus(
  object: Cluster,
  result: ProbeResult,
  parts: { readonly client: Client; readonly recorder: Pick<EventRecorder, 'record'>; readonly now: number },
): Promise<void> {
  const { client, recorder, now } = parts;
  let latest = object;
  for (let tries = 1; ; tries += 1) {
    const { conditions, fields, ready } = clusterHealth(latest, result, now);
    try {
      await applyStatus(client, clusterKind.resource, latest, { conditions, fields }, { now, fieldManager });
      recordReadyEvent(recorder, latest, ready);
      return;
    } catch (error) {
      if (!isConflict(error) || tries === 3) throw error;
      latest = await client.get<Cluster>(clusterKind.resource, { name: object.metadata.name });
      const { uid, generation, deletionTimestamp } = latest.metadata;
      const isOther = uid !== object.metadata.uid || generation !== object.metadata.generation;
      if (isOther || deletionTimestamp !== undefined) throw error;
    }
  }
}
