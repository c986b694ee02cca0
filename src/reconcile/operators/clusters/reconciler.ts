/**
 * Clusters: whether their kubeconfigs open, whether they can be reached and which Kubernetes they run, every minute; and nothing of them
 * is left when they are deleted (requirement 002, FR-OP-002).
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
import { clusterHealth, type Look } from './health.ts';
import { lookAt } from './look.ts';
import { eraseUnclaimed } from './unclaimed.ts';
import { upkeep } from './upkeep.ts';

export interface ClusterReconcilerOptions {
  readonly fleet: ManagedFleet;
  readonly keys: SealingKeys;
  readonly systemNamespace: string;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** How often a cluster is asked how it fares. Left out, every 60 s. */
  readonly intervalMilliseconds?: number;
  /** How long it may take to answer. Left out, 10 s. */
  readonly timeoutMilliseconds?: number;
  /** How long a deleted Cluster that does not answer is waited for. Left out, 5 minutes. */
  readonly erasePatienceMilliseconds?: number;
  /** How long a sealed kubeconfig may be there that no Cluster names. Left out, an hour. */
  readonly unclaimedMilliseconds?: number;
  /** Told once of each Cluster that is new. */
  readonly onRegistered?: () => void;
}

const fieldManager = 'kidp-clusters';

export function addClusterReconciler(manager: Manager, options: ClusterReconcilerOptions): void {
  const { fleet, keys, systemNamespace, recorder, timeoutMilliseconds = 10_000 } = options;
  const interval = options.intervalMilliseconds ?? 60_000;
  const { clock } = manager;
  const log = manager.log.with({ controller: 'clusters' });
  /** What was last looked at, by uid: a change of it is looked at at once, and not only in its turn. */
  const looked = new Map<string, string>();

  const sealedSecrets = { namespace: systemNamespace, fieldSelector: sealedSecretSelector };
  const publish = async () => {
    const { sealing } = await keys.current();
    if (!(await publishSealingKey(manager.leaderClient, systemNamespace, sealing))) return;
    log.info('the key that kubeconfigs are sealed with was published', { keyId: sealing.id });
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
  const chores = [
    { name: 'publish the sealing key', run: publish },
    { name: 'erase what no Cluster names', run: erase },
  ];
  manager.add(upkeep({ chores, clock, log, everyMilliseconds: interval }));
  const ofSecret = ({ metadata }: SecretObject): ObjectKey[] =>
    manager.caches
      .store<Cluster>(clusterKind.resource)
      .list()
      .filter((each) => sealedSecretName(each) === metadata.name)
      .map((each) => ({ name: each.metadata.name }));

  controllerManagedBy(manager, 'clusters')
    // Not for the status: it is written here, each time.
    .for<Cluster>(clusterKind.resource, { predicates: [generationChanged] })
    .watches<SecretObject>(coreSecrets, ofSecret, sealedSecrets)
    // Those that do not answer must not keep the others from their turn.
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
        if (finalization.state !== 'pending') looked.delete(cached.metadata.uid ?? '');
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
      if (looked.get(uid) === seen && due > 0) return { requeueAfterMilliseconds: Math.min(due, interval) };
      const look = await lookAt(object, {
        source: { client, systemNamespace, keys },
        fleet,
        clock,
        log,
        timeoutMilliseconds,
      });
      await tell(object, look, { client, recorder, now: clock.now() });
      looked.set(uid, seen);
      return { requeueAfterMilliseconds: interval };
    });
}

/** A look may take a while, and others write their part of the status meanwhile: that is no reason to look again. */
async function tell(
  object: Cluster,
  look: Look,
  parts: { readonly client: Client; readonly recorder: Pick<EventRecorder, 'record'>; readonly now: number },
): Promise<void> {
  const { client, recorder, now } = parts;
  let latest = object;
  for (let tries = 1; ; tries += 1) {
    const { conditions, fields, ready } = clusterHealth(latest, look, now);
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
