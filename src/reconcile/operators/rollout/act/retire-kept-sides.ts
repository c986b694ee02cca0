/**
 * Removes the kept sides of blue-green deployments when their retention period is over (docs/requirements.md, 002: 24
 * hours by default).
 */
import { type OperatorInstallation, operatorInstallation } from '../../../../api/index.ts';
import { type Fleet, FleetError, type Installer, type SnapshotStore, type Switcher } from '../../../../fleet/index.ts';
import {
  type Client,
  type Clock,
  controllerManagedBy,
  isNotFound,
  type Manager,
  type Result,
} from '../../../../runtime/index.ts';
import { toMilliseconds } from '../rollout.ts';
import { type KeptSide, keptSides } from '../store/installations.ts';
import type { RolloutLeases } from '../store/leases.ts';
import { undefinedIfMissing } from '../store/snapshots.ts';
import { fieldManager } from '../store/status-writer.ts';
import { toFailure } from './failures.ts';

export interface RetireOptions {
  readonly client: Client;
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly snapshots: SnapshotStore;
  readonly installer: Pick<Installer, 'current'>;
  readonly switcher: Pick<Switcher, 'retire'>;
  readonly leases: Pick<RolloutLeases, 'withLease'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The delay before the next try if the cluster is in use or unreachable. */
  readonly retryMilliseconds: number;
}

export function addKeptSideReconciler(manager: Manager, parts: RetireOptions): void {
  controllerManagedBy(manager, 'rollout-retirement')
    .for<OperatorInstallation>(operatorInstallation.resource, {
      // Health is written to the status with every probe and does not matter here.
      predicates: [
        (change) => change.type !== 'updated' || change.object.metadata.generation !== change.old.metadata.generation,
      ],
    })
    .withOptions({ maxConcurrentReconciles: 4, timeoutMilliseconds: 10 * 60_000 })
    .complete(async (key, { read, signal, log }) => {
      const object = await read.get<OperatorInstallation>(operatorInstallation.resource, key);
      if (object === undefined) return undefined;
      try {
        return await retireKeptSides(object, parts, signal);
      } catch (error) {
        const { message, temporary } = toFailure(error);
        const { operator: operatorName, cluster, version } = object.spec;
        const fields = { operatorName, cluster, version, cause: message, temporary };
        log.warn('failed to remove the kept side of a blue-green deployment; retried', fields);
        return { requeueAfterMilliseconds: parts.retryMilliseconds };
      }
    });
}

/** Removes the sides whose retention period is over. Returns when to reconcile again. */
export async function retireKeptSides(
  object: OperatorInstallation,
  parts: RetireOptions,
  signal: AbortSignal,
): Promise<Result> {
  const { client, leases, clock } = parts;
  const { operator, cluster } = object.spec;
  const isDue = ({ keptUntil }: KeptSide) => toMilliseconds(keptUntil) <= clock.now();
  const sides = keptSides(object.spec);
  if (sides.length === 0) return undefined;
  if (!sides.some(isDue)) {
    const next = Math.min(...sides.map(({ keptUntil }) => toMilliseconds(keptUntil)));
    return { requeueAfterMilliseconds: next - clock.now() };
  }
  const blocked: string[] = [];
  const isDone = await leases.withLease({ operator, cluster }, async () => {
    // A rollout may have changed the installation just before we got the Lease, so it is read again.
    const live = await readLive(client, object);
    if (live === undefined) return;
    for (const side of keptSides(live.spec).filter(isDue)) {
      const why = side.namespace === live.spec.namespace ? undefined : await removeSide(side, live.spec, parts, signal);
      if (why === undefined) await forgetSide(client, object, side);
      else blocked.push(why);
    }
  });
  if (blocked.length > 0) throw new FleetError('helm/failed', blocked.join('; '), { temporary: true });
  return isDone ? undefined : { requeueAfterMilliseconds: parts.retryMilliseconds };
}

/**
 * Removes only the kept release: its namespace may hold another one by now. Returns the cause if it must be kept
 * longer.
 */
async function removeSide(
  { snapshot, version }: KeptSide,
  { operator, cluster, snapshot: used }: OperatorInstallation['spec'],
  { fleet, snapshots, installer, switcher }: RetireOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const side = await undefinedIfMissing(snapshots.get(snapshot));
  if (side === undefined) return undefined;
  const stays = await snapshots.get(used);
  const context = { operator, version, signal };
  const connection = await fleet.connect(cluster, { kind: 'install', snapshots: [side, stays] }, context);
  const release = { name: side.releaseName, namespace: side.namespace };
  const { snapshotDigest = '' } = (await installer.current(connection, release, context)) ?? {};
  if (snapshotDigest !== '' && snapshotDigest !== side.digest) return undefined;
  return switcher.retire(connection, side, stays, context);
}

/**
 * Removes a side from the installation. The Lease excludes other writers of the spec; health writes to the status all
 * the time.
 */
async function forgetSide(client: Client, object: OperatorInstallation, side: KeptSide): Promise<void> {
  const live = await readLive(client, object);
  if (live === undefined) return;
  const { resourceVersion, uid, name } = live.metadata;
  const isSide = (other: Pick<KeptSide, 'namespace' | 'snapshot'> | undefined) =>
    other?.namespace === side.namespace && other.snapshot === side.snapshot;
  const { previous, kept = [] } = live.spec;
  const left = kept.filter((each) => !isSide(each));
  const spec = {
    ...(isSide(previous) ? { previous: { keptUntil: null } } : {}),
    ...(left.length === kept.length ? {} : { kept: left.length === 0 ? null : left }),
  };
  const body = { metadata: { resourceVersion, uid }, spec };
  await client.patch(operatorInstallation.resource, { name }, { type: 'merge', body }, { fieldManager });
}

/** Returns undefined if the installation was deleted, or deleted and created again. */
async function readLive(client: Client, { metadata }: OperatorInstallation): Promise<OperatorInstallation | undefined> {
  try {
    const found = await client.get<OperatorInstallation>(operatorInstallation.resource, { name: metadata.name });
    return found.metadata.uid === metadata.uid ? found : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
