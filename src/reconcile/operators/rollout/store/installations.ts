/** OperatorInstallations record what is installed on a cluster. They are written after each install and rollback. */
import {
  API_VERSION,
  installationLabels,
  installationName,
  type OperatorInstallation,
  operatorInstallation,
} from '../../../../api/index.ts';
import type { Snapshot } from '../../../../fleet/index.ts';
import { type Client, isAlreadyExists, isNotFound } from '../../../../runtime/index.ts';
import { differences } from '../../../deployable/write-status.ts';
import type { ClusterStatus, Rollout } from '../rollout.ts';
import { fieldManager } from './status-writer.ts';

export type InstallationSpec = OperatorInstallation['spec'];
/** The previous side of a blue-green deployment, kept with 0 replicas until its retention period is over. */
export type KeptSide = NonNullable<InstallationSpec['kept']>[number];

/** The maximum of kept sides, besides the one that was replaced last. */
export const maxKeptSides = 8;

/**
 * Creates or updates an OperatorInstallation. Without a difference nothing is written, so that watchers see no change.
 */
export async function writeInstallation(client: Client, spec: InstallationSpec): Promise<void> {
  const name = installationName(spec.operator, spec.cluster);
  const labels = installationLabels(spec.operator, spec.cluster);
  const object: OperatorInstallation = {
    apiVersion: API_VERSION,
    kind: operatorInstallation.kind,
    metadata: { name, labels },
    spec,
  };
  try {
    await client.create(operatorInstallation.resource, object, { fieldManager });
    return;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const found = await client.get<OperatorInstallation>(operatorInstallation.resource, { name });
  const { namespace, previous } = spec;
  const left = previous?.keptUntil === undefined ? {} : { kept: previous.namespace };
  const kept = keptSidesAfter(found.spec, { namespace, ...left });
  const changed = differences({ ...found.spec }, { ...spec, kept: kept.length === 0 ? undefined : kept });
  if (Object.keys(changed).length === 0) return;
  const body = { metadata: { labels }, spec: changed };
  await client.patch(operatorInstallation.resource, { name }, { type: 'merge', body }, { fieldManager });
}

export async function deleteInstallation(client: Client, operator: string, cluster: string): Promise<void> {
  try {
    await client.delete(operatorInstallation.resource, { name: installationName(operator, cluster) });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Lists all sides that are kept with 0 replicas. */
export function keptSides({ previous, kept = [] }: Pick<InstallationSpec, 'previous' | 'kept'>): readonly KeptSide[] {
  if (previous?.keptUntil === undefined) return kept;
  return [{ ...previous, keptUntil: previous.keptUntil }, ...kept];
}

/**
 * Lists the sides that stay kept after a write: a side that is not recorded would never be removed. The side in use and
 * the side being replaced are recorded in fields of their own; a namespace holds one side.
 */
export const keptSidesAfter = (
  before: Pick<InstallationSpec, 'previous' | 'kept'>,
  after: { readonly namespace: string; readonly kept?: string },
): KeptSide[] => keptSides(before).filter(({ namespace }) => namespace !== after.namespace && namespace !== after.kept);

/** The installation after a rollout has installed its version. */
export function installationAfterInstall(
  { spec, metadata }: Rollout,
  cluster: ClusterStatus,
  snapshot: Snapshot,
  more: { readonly revision: number; readonly before: Snapshot | undefined; readonly keptUntil?: string },
): InstallationSpec {
  const { revision, before, keptUntil } = more;
  const { color } = cluster;
  return {
    operator: spec.operator,
    cluster: cluster.name,
    version: spec.version,
    ...locationOf(snapshot),
    revision,
    ...(color === undefined ? {} : { color }),
    deployment: metadata.name,
    ...(before === undefined ? {} : { previous: previousOf(before, keptUntil) }),
  };
}

export const previousOf = ({ version, name, namespace }: Snapshot, keptUntil: string | undefined) => ({
  version,
  snapshot: name,
  namespace,
  ...(keptUntil === undefined ? {} : { keptUntil }),
});

/** The installation after a rollback has restored the previous version. */
export function installationAfterRollback(
  { spec, metadata }: Rollout,
  cluster: ClusterStatus,
  before: Snapshot,
  revision: number,
): InstallationSpec {
  const { colorBefore, deploymentBefore, fromVersion, name } = cluster;
  return {
    operator: spec.operator,
    cluster: name,
    version: fromVersion ?? before.version,
    ...locationOf(before),
    revision,
    ...(colorBefore === undefined ? {} : { color: colorBefore }),
    ...(deploymentBefore === undefined ? {} : { deployment: deploymentBefore }),
    restoredBy: metadata.name,
  };
}

const locationOf = ({ name, namespace, releaseName }: Snapshot) => ({ snapshot: name, namespace, releaseName });
