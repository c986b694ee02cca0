/** The side of a blue-green deployment that was kept for an instant way back goes when its time is over (requirement 002: 24 hours). */
import { type OperatorInstallation, operatorInstallation } from '../../../api/index.ts';
import { type Fleet, FleetError, type SnapshotStore, type Switcher } from '../../../fleet/index.ts';
import { type Client, type Clock, controllerManagedBy, type Manager, type Result } from '../../../runtime/index.ts';
import { failureOf } from './failures.ts';
import type { Holds } from './holds.ts';
import { fieldManager } from './ledger.ts';
import { timeOf } from './rollout.ts';

export interface RetireParts {
  readonly client: Client;
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly snapshots: SnapshotStore;
  readonly switcher: Switcher;
  readonly holds: Holds;
  readonly clock: Clock;
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

async function retire(object: OperatorInstallation, parts: RetireParts, signal: AbortSignal): Promise<Result> {
  const { client, fleet, snapshots, switcher, holds, clock } = parts;
  const { operator, cluster, previous } = object.spec;
  if (previous?.keptUntil === undefined) return undefined;
  const left = timeOf(previous.keptUntil) - clock.now();
  if (left > 0) return { requeueAfterMilliseconds: left };
  const isDone = await holds.alone({ operator, cluster }, async () => {
    const side = await snapshots.get(previous.snapshot).catch((error: unknown) => {
      if (error instanceof FleetError && error.code === 'snapshot/missing') return undefined;
      throw error;
    });
    if (side !== undefined && side.namespace !== object.spec.namespace) {
      const context = { operator, version: previous.version, signal };
      const connection = await fleet.connect(cluster, { kind: 'install', snapshots: [side] }, context);
      await switcher.retire(connection, side, context);
    }
    const { resourceVersion, uid, name } = object.metadata;
    const body = { metadata: { resourceVersion, uid }, spec: { previous: { keptUntil: null } } };
    await client.patch(operatorInstallation.resource, { name }, { type: 'merge', body }, { fieldManager });
  });
  return isDone ? undefined : { requeueAfterMilliseconds: parts.againMilliseconds };
}
