/** What is on a cluster before a rollout changes anything there: written down for the way back, and refused where nobody has agreed to change it. */
import { type OperatorInstallation, sameVersion } from '../../../../api/index.ts';
import {
  type ClusterConnection,
  FleetError,
  type InstalledRelease,
  type Installer,
  type Snapshot,
  type SnapshotStore,
} from '../../../../fleet/index.ts';
import type { Client } from '../../../../runtime/index.ts';
import { levelsFor, type RolloutSettings } from '../../settings.ts';
import type { Before } from '../decide/outcomes.ts';
import { keptBeside, mostKept, writeInstallation } from '../store/installations.ts';
import { orMissing } from '../store/snapshots.ts';
import type { Place } from './cluster-steps.ts';

interface BeforeParts {
  readonly client: Client;
  readonly installer: Pick<Installer, 'current'>;
  readonly snapshots: SnapshotStore;
  readonly settings: RolloutSettings;
  readonly snapshot: (name: string | undefined) => Promise<Snapshot>;
  readonly installation: () => Promise<OperatorInstallation | undefined>;
  readonly connect: (snapshots: readonly Snapshot[]) => Promise<ClusterConnection>;
}

export async function lookBefore(place: Place, parts: BeforeParts): Promise<Before> {
  const snapshot = await parts.snapshot(place.cluster.snapshot);
  const installation = await parts.installation();
  if (installation !== undefined) demandRoom(place, installation, snapshot);
  const release = installation?.spec ?? ownPlace(place, snapshot);
  const location = { name: release.releaseName, namespace: release.namespace };
  // What is there may be in another namespace than what comes: there, only the records of Helm are looked at.
  const elsewhere = { ...snapshot, namespace: location.namespace, manifests: [], definitions: [] };
  const places = location.namespace === snapshot.namespace ? [snapshot] : [snapshot, elsewhere];
  const connection = await parts.connect(places);
  const current = await parts.installer.current(connection, location, place.context);
  if (current === undefined) return {};
  // A release of ours is named after its Operator; one that was left half removed has an empty digest.
  if ((current.snapshotDigest ?? '') !== '' && current.chart !== snapshot.operator) {
    const where = `release ${location.name} in namespace ${location.namespace}`;
    throw new FleetError('chart/invalid', `${where} is of the Operator ${current.chart}: choose another releaseName`);
  }
  const { deployment, color } = installation?.spec ?? {};
  const known = {
    ...(color === undefined ? {} : { colorBefore: color }),
    ...(deployment === undefined ? {} : { deploymentBefore: deployment }),
  };
  const kept =
    installation === undefined ? undefined : await orMissing(parts.snapshots.get(installation.spec.snapshot));
  if (installation !== undefined && kept !== undefined && kept.digest === current.snapshotDigest) {
    const { version } = installation.spec;
    if (!isAgreed(place, version, parts.settings)) throw notAgreed(place, version);
    return { ...known, fromVersion: version, snapshotBefore: kept.name };
  }
  // Somebody else has put it there, or has changed it since: what is there is what goes back.
  const found = await parts.snapshots.put({
    operator: snapshot.operator,
    version: current.version,
    chartDigest: '',
    valuesDigest: '',
    environment: snapshot.environment,
    kubernetesVersion: snapshot.kubernetesVersion,
    namespace: location.namespace,
    releaseName: location.name,
    definitions: current.definitions ?? [],
    manifests: current.manifests,
  });
  if (current.snapshotDigest !== '' && !isAgreed(place, current.version, parts.settings)) {
    await adopt(place, parts.client, { installation, current, found });
    throw notAgreed(place, current.version);
  }
  return { ...known, fromVersion: current.version, snapshotBefore: found.name };
}

/** A rollout goes to where it is, a blue-green one to the other side of it: nothing else was planned. */
function demandRoom({ rollout }: Place, { spec }: OperatorInstallation, { namespace }: Snapshot): void {
  const isBlueGreen = rollout.spec.strategy === 'BlueGreen';
  if ((spec.namespace === namespace) === isBlueGreen) {
    const message = 'what is there has moved to another namespace since this was planned: create the rollout anew';
    throw new FleetError('chart/invalid', message);
  }
  const kept = keptBeside(spec, { namespace, ...(isBlueGreen ? { kept: spec.namespace } : {}) });
  if (kept.length <= mostKept) return;
  const message = `${mostKept} older sides of blue-green deployments are still kept there, and no more can be: wait for the first of them to go`;
  throw new FleetError('chart/invalid', message);
}

/** Where it would be if somebody had installed it by hand, as the Operator said. */
function ownPlace({ rollout, plan }: Place, snapshot: Snapshot): { releaseName: string; namespace: string } {
  const { namespace = snapshot.namespace } = rollout.spec.strategy === 'BlueGreen' ? plan : snapshot;
  return { releaseName: snapshot.releaseName, namespace };
}

/** Another rollout, or somebody by hand, may have put another version there than the one that was planned from. */
function isAgreed({ rollout, cluster }: Place, version: string, settings: RolloutSettings): boolean {
  const { fromVersion, environment } = cluster;
  if (sameVersion(version, rollout.spec.version)) return true;
  if (fromVersion !== undefined && sameVersion(version, fromVersion)) return true;
  return levelsFor(settings, 'VersionUpgrade', environment).length === 0;
}

function notAgreed({ cluster: { fromVersion } }: Place, version: string): FleetError {
  const planned = fromVersion === undefined ? 'nothing was known to be there' : `${fromVersion} was there`;
  const message = `${version} is there now, and ${planned} when this was planned: nobody has agreed to this upgrade. Create the rollout anew`;
  return new FleetError('chart/invalid', message);
}

/** From now on it is known, so that the rollout that is created anew asks those who have to agree. */
async function adopt(
  { rollout, cluster }: Place,
  client: Client,
  more: {
    readonly installation: OperatorInstallation | undefined;
    readonly current: InstalledRelease;
    readonly found: Snapshot;
  },
): Promise<void> {
  const { installation, current, found } = more;
  await writeInstallation(client, {
    ...installation?.spec,
    operator: rollout.spec.operator,
    cluster: cluster.name,
    version: current.version,
    snapshot: found.name,
    namespace: found.namespace,
    releaseName: found.releaseName,
    revision: current.revision,
  });
}
