/** `openSwitcher`: the two sides of a blue-green deployment on one cluster, and which of them works. Each step may be taken again. */
import { type Clock, systemClock } from '../../runtime/index.ts';
import type {
  ApplyOptions,
  ClusterConnection,
  Installer,
  Snapshot,
  SwitchedSides,
  Switcher,
  WorkContext,
} from '../contract.ts';
import { switchConversions } from './definitions.ts';
import { onCluster } from './failures.ts';
import { disown } from './ownership.ts';
import { annotate, keepAnnotation } from './protect.ts';
import { objectsOf, readRelease, revisionsOf } from './releases.ts';
import { giveUp, lead, sideOf, supply } from './sides.ts';
import { waitingFor } from './until.ts';
import { scale, untilAtZero, untilRolledOut, workloadsIn } from './workloads.ts';

export interface SwitcherOptions {
  readonly installer: Installer;
  readonly clock?: Clock;
  /** For each thing that is waited for. */
  readonly timeoutMilliseconds?: number;
}

export function openSwitcher({
  installer,
  clock = systemClock,
  timeoutMilliseconds = 300_000,
}: SwitcherOptions): Switcher {
  const waiting = ({ signal }: WorkContext, milliseconds: number) => waitingFor(clock, milliseconds, signal);

  async function switchOver({ client }: ClusterConnection, sides: SwitchedSides, context: WorkContext): Promise<void> {
    const { from, to, coexist } = sides;
    const patience = sides.timeoutMilliseconds ?? timeoutMilliseconds;
    const side = await sideOf(client, to);
    const [old, now] = [workloadsIn(from?.manifests ?? []), workloadsIn(to.manifests)];
    const stopOld = async () => {
      if (from === undefined || from.namespace === to.namespace) return;
      await scale(client, old, from.namespace, 0);
      await untilAtZero(client, old, from.namespace, waiting(context, patience));
    };
    await supply(client, side);
    // Two that do not know of each other would both act on the same custom resources.
    if (!coexist) await stopOld();
    await scale(client, now, to.namespace);
    await untilRolledOut(client, now, to.namespace, waiting(context, patience));
    await switchConversions(client, to);
    await lead(client, side);
    await stopOld();
  }

  /** A side that was a whole release before has objects that the other side lives on: they leave the release first, and stay. */
  async function retire(connection: ClusterConnection, snapshot: Snapshot, context: WorkContext): Promise<void> {
    const { client } = connection;
    const { releaseName: name, namespace } = snapshot;
    const [newest] = await revisionsOf(client, { name, namespace });
    const options: ApplyOptions = { attempt: `retire-${snapshot.name}`, timeoutMilliseconds, context };
    const side = await sideOf(client, snapshot);
    const outside = [...side.needs, ...side.leads];
    if (newest !== undefined) {
      const objects = await objectsOf(await readRelease(newest));
      const isWhole = objects.some((object) =>
        outside.some(({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name),
      );
      if (isWhole) {
        for (const object of outside) {
          await annotate(client, side.kinds.resourceOf(object), keyOf(object, namespace), { [keepAnnotation]: 'keep' });
        }
        await installer.restore(connection, snapshot, { ...options, only: 'namespaced', atZero: true });
      }
      await installer.remove(connection, { name, namespace }, options);
    }
    await giveUp(client, side);
    const release = { name, namespace, operator: snapshot.operator };
    for (const object of outside) {
      await disown(client, side.kinds.resourceOf(object), keyOf(object, namespace), release);
    }
  }

  return {
    switchOver: (connection, sides, context) =>
      onCluster(connection.cluster, sides.to.manifests, () => switchOver(connection, sides, context)),
    retire: (connection, side, context) =>
      onCluster(connection.cluster, side.manifests, () => retire(connection, side, context)),
  };
}

const keyOf = (
  { metadata }: { readonly metadata: { readonly name: string; readonly namespace?: string } },
  namespace: string,
) => ({
  name: metadata.name,
  namespace: metadata.namespace ?? namespace,
});
