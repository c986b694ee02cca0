/** OperatorInstallations: what is on a cluster, written down after it was put there and after it was taken back. */
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
/** A side of a blue-green deployment that was left, and is at 0 until its time is over. */
export type KeptSide = NonNullable<InstallationSpec['kept']>[number];

/** As many as there is room for, beside the one that was left last. */
export const mostKept = 8;

/** Where it says so already, nothing is written: those who watch it have nothing to see. */
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
  const kept = keptBeside(found.spec, { namespace, ...left });
  const changed = differences({ ...found.spec }, { ...spec, kept: kept.length === 0 ? undefined : kept });
  if (Object.keys(changed).length === 0) return;
  const body = { metadata: { labels }, spec: changed };
  await client.patch(operatorInstallation.resource, { name }, { type: 'merge', body }, { fieldManager });
}

export async function forgetInstallation(client: Client, operator: string, cluster: string): Promise<void> {
  try {
    await client.delete(operatorInstallation.resource, { name: installationName(operator, cluster) });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** All that are kept at 0, whoever has left them. */
export function keptSides({ previous, kept = [] }: Pick<InstallationSpec, 'previous' | 'kept'>): readonly KeptSide[] {
  if (previous?.keptUntil === undefined) return kept;
  return [{ ...previous, keptUntil: previous.keptUntil }, ...kept];
}

/**
 * What is still kept once something else is written down: all that was, or nobody would ever remove it. What is used now, and what is
 * being left now, has its own place; in a namespace there is one side.
 */
export const keptBeside = (
  before: Pick<InstallationSpec, 'previous' | 'kept'>,
  after: { readonly namespace: string; readonly kept?: string },
): KeptSide[] => keptSides(before).filter(({ namespace }) => namespace !== after.namespace && namespace !== after.kept);

/** It was put there by a rollout. */
export function installed(
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
    ...placeOf(snapshot),
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

/** It is there again, because a rollout was taken back. */
export function returned(
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
    ...placeOf(before),
    revision,
    ...(colorBefore === undefined ? {} : { color: colorBefore }),
    ...(deploymentBefore === undefined ? {} : { deployment: deploymentBefore }),
    restoredBy: metadata.name,
  };
}

const placeOf = ({ name, namespace, releaseName }: Snapshot) => ({ snapshot: name, namespace, releaseName });
