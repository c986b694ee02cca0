/**
 * What goes with a Cluster: its service accounts and their rights on the cluster, what is known of operators there, and its sealed
 * kubeconfig, last, because the rest takes it. A cluster that is gone for good does not hold this up for ever.
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
  /** How long it is tried to clean up on a cluster that does not answer. */
  readonly patienceMilliseconds: number;
}

const againMilliseconds = 15_000;

export async function eraseCluster(cluster: Cluster, parts: EraseParts): Promise<Cleanup> {
  const { client, fleet, systemNamespace } = parts;
  const { name } = cluster.metadata;
  const pending = await eraseThere(cluster, parts);
  if (pending !== undefined) return pending;
  fleet.forget(name);
  const installations = await liveReader(client).list<OperatorInstallation>(operatorInstallation.resource);
  for (const { metadata, spec } of installations) {
    if (spec.cluster === name) await gone(client.delete(operatorInstallation.resource, { name: metadata.name }));
  }
  const key = { namespace: systemNamespace, name: sealedSecretName(cluster) };
  const secret = await client.get<SecretObject>(coreSecrets, key).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  // A Secret of another type was never the Cluster's, whatever spec.credentials says.
  if (secret?.type === SEALED_KUBECONFIG_TYPE && !(await isUsedByAnother(cluster, parts))) {
    await gone(client.delete(coreSecrets, key));
  }
  return undefined;
}

async function eraseThere(
  cluster: Cluster,
  { fleet, recorder, now, patienceMilliseconds }: EraseParts,
): Promise<Cleanup> {
  try {
    await fleet.removeAccess(cluster);
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const since = Date.parse(cluster.metadata.deletionTimestamp ?? '');
    if (error.temporary && now - since < patienceMilliseconds) return { requeueAfterMilliseconds: againMilliseconds };
    recorder.record({
      regarding: cluster,
      type: 'Warning',
      reason: 'LeftBehind',
      action: 'Erase',
      note: `What was made on it for access to it (everything labelled platform.company.com/made-for=cluster-access) is left there: ${error.message}`,
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

async function gone(deletion: Promise<void>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
