/**
 * `openSwitcher` manages the two sides of a blue-green deployment on one cluster, and which of them is active. Every
 * step is idempotent.
 */
import { type Client, type Clock, systemClock } from '../../runtime/index.ts';
import {
  type ApplyOptions,
  type ClusterConnection,
  FleetError,
  type Installer,
  type Snapshot,
  type SwitchedSides,
  type Switcher,
  type WorkContext,
} from '../contract.ts';
import { conversionsThrough, type Left, requireConversions, switchConversions } from './conversions.ts';
import { settleStorage } from './definitions.ts';
import { onCluster } from './failures.ts';
import { releaseOwnership, returnToRelease } from './ownership.ts';
import { annotate, keepAnnotation } from './protect.ts';
import { markFailed, objectsOf, readRelease, revisionsOf } from './releases.ts';
import {
  applyNeeds,
  applyRoutes,
  find,
  removeSide,
  removeStaleObjects,
  removeStaleRoutes,
  requireOwnedRoutes,
  type Side,
  sideOf,
} from './sides.ts';
import { deadlineIn } from './wait.ts';
import { scale, untilAtZero, untilRolledOut, workloadsIn } from './workloads.ts';

interface SwitcherOptions {
  readonly installer: Installer;
  readonly clock?: Clock;
  /** The timeout of each wait. */
  readonly timeoutMilliseconds?: number;
}

export function openSwitcher({
  installer,
  clock = systemClock,
  timeoutMilliseconds = 300_000,
}: SwitcherOptions): Switcher {
  const waiting = ({ signal }: WorkContext, milliseconds: number) => deadlineIn(clock, milliseconds, signal);

  async function switchOver({ client }: ClusterConnection, sides: SwitchedSides, context: WorkContext): Promise<void> {
    const { from, to, coexist } = sides;
    const patience = sides.timeoutMilliseconds ?? timeoutMilliseconds;
    const both = { from, to };
    const [old, now] = [from === undefined ? undefined : await sideOf(client, from), await sideOf(client, to)];
    const workloads = workloadsIn(to.manifests);
    const isElsewhere = old !== undefined && old.snapshot.namespace !== to.namespace;
    const stopOld = async () => {
      if (!isElsewhere) return;
      const { manifests, namespace } = old.snapshot;
      const others = workloadsIn(manifests).filter((workload) => find(now, old, workload) === undefined);
      await scale(client, others, namespace, 0);
      await untilAtZero(client, others, namespace, waiting(context, patience));
    };
    await requireConversions(client, { ...both, coexist });
    await requireOwnedRoutes(client, now);
    await applyNeeds(client, now);
    // Controllers without shared leader election would both act on the same custom resources.
    if (!coexist && isElsewhere) {
      await stopOld();
      // The old side no longer answers: the new controllers must not depend on it to start.
      await switchConversions(client, both, { shared: true });
      await removeStaleRoutes(client, old, now);
      await applyRoutes(client, now, old);
    }
    await scale(client, workloads, to.namespace);
    await untilRolledOut(client, workloads, to.namespace, waiting(context, patience));
    const left = await switchConversions(client, both);
    await applyRoutes(client, now);
    if (isElsewhere) await removeStaleRoutes(client, old, now);
    else await alone(client, old, now);
    // An old side that still converts keeps running.
    if (!left.some(({ isNeeded }) => isNeeded)) await stopOld();
  }

  /**
   * A side that was a whole release has objects that the other side uses: they are detached from the release first, and
   * kept.
   */
  async function retire(
    connection: ClusterConnection,
    snapshot: Snapshot,
    staying: Snapshot | undefined,
    context: WorkContext,
  ): Promise<string | undefined> {
    const { client } = connection;
    const { releaseName: name, namespace } = snapshot;
    const side = await sideOf(client, snapshot);
    const other = staying === undefined ? undefined : await sideOf(client, staying);
    const held = await conversionsThrough(client, { from: snapshot, to: staying });
    if (held.length > 0) return kept(client, side, other, held);
    const [newest] = await revisionsOf(client, { name, namespace });
    const options: ApplyOptions = { attempt: `retire-${snapshot.name}`, timeoutMilliseconds, context };
    const outside = [...side.needs, ...side.routes];
    if (newest !== undefined) {
      const objects = await objectsOf(await readRelease(newest));
      const isWhole = objects.some((object) =>
        outside.some(({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name),
      );
      if (isWhole) {
        // Helm refuses to upgrade a release that is being uninstalled.
        if (newest.status === 'uninstalling' && !(await markFailed(client, newest))) {
          throw new FleetError('helm/failed', `release ${name} in namespace ${namespace} is being changed`, {
            temporary: true,
          });
        }
        for (const object of outside) {
          if (other === undefined || find(other, side, object) === undefined) continue;
          await annotate(client, side.kinds.resourceOf(object), keyOf(object, namespace), { [keepAnnotation]: 'keep' });
        }
        await installer.restore(connection, snapshot, { ...options, only: 'namespaced', atZero: true });
      }
      await installer.remove(connection, { name, namespace }, options);
    }
    await removeSide(client, side, other);
    const release = { name, namespace, operator: snapshot.operator };
    for (const object of outside) {
      await releaseOwnership(client, side.kinds.resourceOf(object), keyOf(object, namespace), release);
    }
    if (other !== undefined) {
      await returnToRelease(client, other);
      await settleStorage(client, other.snapshot);
    }
    return undefined;
  }

  return {
    switchOver: (connection, sides, context) =>
      onCluster(connection.cluster, sides.to.manifests, () => switchOver(connection, sides, context)),
    retire: (connection, side, staying, context) =>
      onCluster(connection.cluster, side.manifests, () => retire(connection, side, staying, context)),
  };
}

/** The first install or an in-place upgrade: there is no other side. */
async function alone(client: Client, old: Side | undefined, now: Side): Promise<void> {
  if (old !== undefined) await removeStaleObjects(client, old, now);
  await settleStorage(client, now.snapshot);
}

/** The kept side runs only if the other one needs it. Returns the reason. */
async function kept(client: Client, side: Side, other: Side | undefined, held: readonly Left[]): Promise<string> {
  const { version, namespace, manifests } = side.snapshot;
  const names = held.map(({ name }) => name).join(', ');
  if (held.some(({ isNeeded }) => isNeeded)) {
    return `${version} keeps running in ${namespace}: it is the only converter of the stored objects of ${names}`;
  }
  const own = workloadsIn(manifests).filter((each) => other === undefined || find(other, side, each) === undefined);
  await scale(client, own, namespace, 0);
  return `${version} is kept at 0 replicas in ${namespace}: it is the only converter between the versions of ${names}`;
}

const keyOf = (
  { metadata }: { readonly metadata: { readonly name: string; readonly namespace?: string } },
  namespace: string,
) => ({
  name: metadata.name,
  namespace: metadata.namespace ?? namespace,
});
