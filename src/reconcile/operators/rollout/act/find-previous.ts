/**
 * `findPrevious` finds the release on a cluster before a rollout changes it, for the rollback. It refuses an upgrade
 * that nobody approved.
 */
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
import type { PreviousRelease } from '../decide/outcomes.ts';
import { keptSidesAfter, maxKeptSides, writeInstallation } from '../store/installations.ts';
import { undefinedIfMissing } from '../store/snapshots.ts';
import type { ClusterTarget } from './cluster-steps.ts';

interface FindPreviousOptions {
  readonly client: Client;
  readonly installer: Pick<Installer, 'current'>;
  readonly snapshots: SnapshotStore;
  readonly settings: RolloutSettings;
  readonly snapshot: (name: string | undefined) => Promise<Snapshot>;
  readonly installation: () => Promise<OperatorInstallation | undefined>;
  readonly connect: (snapshots: readonly Snapshot[]) => Promise<ClusterConnection>;
}

export async function findPrevious(target: ClusterTarget, parts: FindPreviousOptions): Promise<PreviousRelease> {
  const snapshot = await parts.snapshot(target.cluster.snapshot);
  const installation = await parts.installation();
  if (installation !== undefined) requireFreeNamespace(target, installation, snapshot);
  const release = installation?.spec ?? defaultLocation(target, snapshot);
  const location = { name: release.releaseName, namespace: release.namespace };
  // The current release may be in another namespace than the new one. There, only Helm's release records are read.
  const elsewhere = { ...snapshot, namespace: location.namespace, manifests: [], definitions: [] };
  const places = location.namespace === snapshot.namespace ? [snapshot] : [snapshot, elsewhere];
  const connection = await parts.connect(places);
  const current = await parts.installer.current(connection, location, target.context);
  if (current === undefined) return {};
  // The chart of our own releases is named after the Operator; a partly removed release has an empty digest.
  if ((current.snapshotDigest ?? '') !== '' && current.chart !== snapshot.operator) {
    const where = `release ${location.name} in namespace ${location.namespace}`;
    throw new FleetError('chart/invalid', `${where} belongs to Operator ${current.chart}: choose another releaseName`);
  }
  const { deployment, color } = installation?.spec ?? {};
  const known = {
    ...(color === undefined ? {} : { colorBefore: color }),
    ...(deployment === undefined ? {} : { deploymentBefore: deployment }),
  };
  const kept =
    installation === undefined ? undefined : await undefinedIfMissing(parts.snapshots.get(installation.spec.snapshot));
  if (installation !== undefined && kept !== undefined && kept.digest === current.snapshotDigest) {
    const { version } = installation.spec;
    if (!isApprovedUpgrade(target, version, parts.settings)) throw unapprovedUpgrade(target, version);
    return { ...known, fromVersion: version, snapshotBefore: kept.name };
  }
  // The release was installed or changed by someone else: the rollback restores it the way it is now.
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
  if (current.snapshotDigest !== '' && !isApprovedUpgrade(target, current.version, parts.settings)) {
    await recordFound(target, parts.client, { installation, current, found });
    throw unapprovedUpgrade(target, current.version);
  }
  return { ...known, fromVersion: current.version, snapshotBefore: found.name };
}

/**
 * A rollout upgrades in place; a blue-green one uses the other namespace. If the release has moved since planning, the
 * plan is invalid.
 */
function requireFreeNamespace(
  { rollout }: ClusterTarget,
  { spec }: OperatorInstallation,
  { namespace }: Snapshot,
): void {
  const isBlueGreen = rollout.spec.strategy === 'BlueGreen';
  if ((spec.namespace === namespace) === isBlueGreen) {
    const message =
      'the release has moved to another namespace since this rollout was planned: create the rollout again';
    throw new FleetError('chart/invalid', message);
  }
  const kept = keptSidesAfter(spec, { namespace, ...(isBlueGreen ? { kept: spec.namespace } : {}) });
  if (kept.length <= maxKeptSides) return;
  const message = `${maxKeptSides} older sides of blue-green deployments are still kept on the cluster, which is the maximum: wait until the first of them is removed`;
  throw new FleetError('chart/invalid', message);
}

/** The location of a release that was installed manually with the settings of the Operator. */
function defaultLocation(
  { rollout, plan }: ClusterTarget,
  snapshot: Snapshot,
): { releaseName: string; namespace: string } {
  const { namespace = snapshot.namespace } = rollout.spec.strategy === 'BlueGreen' ? plan : snapshot;
  return { releaseName: snapshot.releaseName, namespace };
}

/**
 * Another rollout or a user may have installed another version since planning; upgrading from it may need an Approval.
 */
function isApprovedUpgrade({ rollout, cluster }: ClusterTarget, version: string, settings: RolloutSettings): boolean {
  const { fromVersion, environment } = cluster;
  if (sameVersion(version, rollout.spec.version)) return true;
  if (fromVersion !== undefined && sameVersion(version, fromVersion)) return true;
  return levelsFor(settings, 'VersionUpgrade', environment).length === 0;
}

function unapprovedUpgrade({ cluster: { fromVersion } }: ClusterTarget, version: string): FleetError {
  const planned = fromVersion === undefined ? 'no version was known' : `the version was ${fromVersion}`;
  const message = `version ${version} is installed now, but ${planned} when this rollout was planned: nobody has approved this upgrade. Create the rollout again`;
  return new FleetError('chart/invalid', message);
}

/** Records the release that was found, so that the next rollout requests the right Approvals. */
async function recordFound(
  { rollout, cluster }: ClusterTarget,
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
