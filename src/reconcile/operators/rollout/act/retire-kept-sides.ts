/** The sides of blue-green deployments that were kept for an instant way back go when their time is over (requirement 002: 24 hours). */
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
import { timeOf } from '../rollout.ts';
import { type KeptSide, keptSides } from '../store/installations.ts';
import type { Holds } from '../store/leases.ts';
import { orMissing } from '../store/snapshots.ts';
import { fieldManager } from '../store/status-writer.ts';
import { failureOf } from './failures.ts';

export interface RetireParts {
  readonly client: Client;
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly snapshots: SnapshotStore;
  readonly installer: Pick<Installer, 'current'>;
  readonly switcher: Pick<Switcher, 'retire'>;
  readonly holds: Pick<Holds, 'alone'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Somebody works there, or it cannot be reached: it is looked at again after this long. */
  readonly againMilliseconds: number;
}

export function addRetirement(manager: Manager, parts: RetireParts): void {
  controllerManagedBy(manager, 'rollout-retirement')
    .for<OperatorInstallation>(operatorInstallation.resource, {
      // Health is told on each of them all the time, and changes nothing here.
      predicates: [
        (change) => change.type !== 'updated' || change.object.metadata.generation !== change.old.metadata.generation,
      ],
    })
    .withOptions({ maxConcurrentReconciles: 4, timeoutMilliseconds: 10 * 60_000 })
    .complete(async (key, { read, signal, log }) => {
      const object = await read.get<OperatorInstallation>(operatorInstallation.resource, key);
      if (object === undefined) return undefined;
      try {
        return await retire(object, parts, signal);
      } catch (error) {
        const { message, temporary } = failureOf(error);
        const { operator: operatorName, cluster, version } = object.spec;
        const fields = { operatorName, cluster, version, why: message, temporary };
        log.warn('what was kept of a blue-green deployment could not be removed yet', fields);
        return { requeueAfterMilliseconds: parts.againMilliseconds };
      }
    });
}

/** Returns when to look again. */
export async function retire(object: OperatorInstallation, parts: RetireParts, signal: AbortSignal): Promise<Result> {
  const { client, holds, clock } = parts;
  const { operator, cluster } = object.spec;
  const isDue = ({ keptUntil }: KeptSide) => timeOf(keptUntil) <= clock.now();
  const sides = keptSides(object.spec);
  if (sides.length === 0) return undefined;
  if (!sides.some(isDue)) {
    const next = Math.min(...sides.map(({ keptUntil }) => timeOf(keptUntil)));
    return { requeueAfterMilliseconds: next - clock.now() };
  }
  const held: string[] = [];
  const isDone = await holds.alone({ operator, cluster }, async () => {
    // Somebody may have worked there until a moment ago: what counts is what is written now that nobody does.
    const live = await written(client, object);
    if (live === undefined) return;
    for (const side of keptSides(live.spec).filter(isDue)) {
      const why = side.namespace === live.spec.namespace ? undefined : await remove(side, live.spec, parts, signal);
      if (why === undefined) await forget(client, object, side);
      else held.push(why);
    }
  });
  if (held.length > 0) throw new FleetError('helm/failed', held.join('; '), { temporary: true });
  return isDone ? undefined : { requeueAfterMilliseconds: parts.againMilliseconds };
}

/** Nothing but what was kept: in its namespace there may be something else by now. Says why where it has to be kept longer. */
async function remove(
  { snapshot, version }: KeptSide,
  { operator, cluster, snapshot: used }: OperatorInstallation['spec'],
  { fleet, snapshots, installer, switcher }: RetireParts,
  signal: AbortSignal,
): Promise<string | undefined> {
  const side = await orMissing(snapshots.get(snapshot));
  if (side === undefined) return undefined;
  const stays = await snapshots.get(used);
  const context = { operator, version, signal };
  const connection = await fleet.connect(cluster, { kind: 'install', snapshots: [side, stays] }, context);
  const release = { name: side.releaseName, namespace: side.namespace };
  const { snapshotDigest = '' } = (await installer.current(connection, release, context)) ?? {};
  if (snapshotDigest !== '' && snapshotDigest !== side.digest) return undefined;
  return switcher.retire(connection, side, stays, context);
}

/** Nobody else changes what is written while we are alone; how it fares is told on it all the time. */
async function forget(client: Client, object: OperatorInstallation, side: KeptSide): Promise<void> {
  const live = await written(client, object);
  if (live === undefined) return;
  const { resourceVersion, uid, name } = live.metadata;
  const isIt = (other: Pick<KeptSide, 'namespace' | 'snapshot'> | undefined) =>
    other?.namespace === side.namespace && other.snapshot === side.snapshot;
  const { previous, kept = [] } = live.spec;
  const left = kept.filter((each) => !isIt(each));
  const spec = {
    ...(isIt(previous) ? { previous: { keptUntil: null } } : {}),
    ...(left.length === kept.length ? {} : { kept: left.length === 0 ? null : left }),
  };
  const body = { metadata: { resourceVersion, uid }, spec };
  await client.patch(operatorInstallation.resource, { name }, { type: 'merge', body }, { fieldManager });
}

/** Undefined where it is gone, or another one has its name. */
async function written(client: Client, { metadata }: OperatorInstallation): Promise<OperatorInstallation | undefined> {
  try {
    const found = await client.get<OperatorInstallation>(operatorInstallation.resource, { name: metadata.name });
    return found.metadata.uid === metadata.uid ? found : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
