/**
 * Cleans up after a deleted Cluster: its service accounts and their RBAC on the cluster, its OperatorInstallations, and
 * its sealed kubeconfig, last, because the rest needs it. A cluster that no longer exists does not block this forever.
 */
import {
  type Cluster,
  cluster as clusterKind,
  type OperatorInstallation,
  operatorInstallation,
  SEALED_KUBECONFIG_TYPE,
} from '../../../api/index.ts';
import { FleetError, type ManagedFleet, type SecretObject, sealedSecretName } from '../../../fleet/index.ts';
import { type Cleanup, type Client, type EventRecorder, isNotFound } from '../../../runtime/index.ts';
import { coreSecrets, liveReader } from '../../../runtime/internal.ts';

interface EraseParts {
  readonly client: Client;
  readonly fleet: ManagedFleet;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly systemNamespace: string;
  readonly now: number;
  /** How long the cleanup of an unresponsive cluster is retried. */
  readonly patienceMilliseconds: number;
}

const retryMilliseconds = 15_000;

export async function eraseCluster(cluster: Cluster, parts: EraseParts): Promise<Cleanup> {
  const { client, fleet, systemNamespace } = parts;
  const { name } = cluster.metadata;
  const pending = await removeAccess(cluster, parts);
  if (pending !== undefined) return pending;
  fleet.forget(name);
  const installations = await liveReader(client).list<OperatorInstallation>(operatorInstallation.resource);
  for (const { metadata, spec } of installations) {
    if (spec.cluster === name)
      await ignoreNotFound(client.delete(operatorInstallation.resource, { name: metadata.name }));
  }
  const key = { namespace: systemNamespace, name: sealedSecretName(cluster) };
  const secret = await client.get<SecretObject>(coreSecrets, key).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  // A Secret of another type never belonged to the Cluster, even if spec.credentials names it.
  if (secret?.type === SEALED_KUBECONFIG_TYPE && !(await isUsedByAnother(cluster, parts))) {
    await ignoreNotFound(client.delete(coreSecrets, key));
  }
  return undefined;
}

async function removeAccess(
  cluster: Cluster,
  { fleet, recorder, now, patienceMilliseconds }: EraseParts,
): Promise<Cleanup> {
  try {
    await fleet.removeAccess(cluster);
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const since = Date.parse(cluster.metadata.deletionTimestamp ?? '');
    if (error.temporary && now - since < patienceMilliseconds) return { requeueAfterMilliseconds: retryMilliseconds };
    recorder.record({
      regarding: cluster,
      type: 'Warning',
      reason: 'CleanupIncomplete',
      action: 'Erase',
      note: `access objects remain on the cluster (label platform.company.com/made-for=cluster-access), remove them manually: ${error.message}`,
    });
    return undefined;
  }
}

async function isUsedByAnother(cluster: Cluster, { client }: EraseParts): Promise<boolean> {
  const all = await liveReader(client).list<Cluster>(clusterKind.resource);
  return all.some(
    (each) => each.metadata.name !== cluster.metadata.name && sealedSecretName(each) === sealedSecretName(cluster),
  );
}

async function ignoreNotFound(deletion: Promise<void>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
