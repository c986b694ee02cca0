/**
 * `probeCluster` decrypts the kubeconfig of a Cluster, seals it again if the key has changed, and probes the cluster.
 */
import type { Cluster } from '../../../api/index.ts';
import {
  type CredentialsSource,
  type Fleet,
  FleetError,
  probe,
  readCredentials,
  replaceSealed,
  sealKubeconfig,
} from '../../../fleet/index.ts';
import { type Clock, isConflict, type Logger } from '../../../runtime/index.ts';
import { isAboutCredentials, type ProbeResult } from './health.ts';

interface ProbeOptions {
  readonly source: CredentialsSource;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timeoutMilliseconds: number;
}

/** Errors of the Cluster are part of the result; other errors reject. */
export async function probeCluster(cluster: Cluster, parts: ProbeOptions): Promise<ProbeResult> {
  const { source, fleet } = parts;
  const { name } = cluster.metadata;
  try {
    const credentials = await readCredentials(source, cluster);
    const { sealed } = credentials;
    // The kubeconfig was replaced: connections made with the old one must end.
    if (cluster.status?.credentialsDigest !== undefined && cluster.status.credentialsDigest !== sealed.digest)
      fleet.forget(name);
    const { keyId, digest } = await resealIfNeeded(cluster, credentials, parts);
    return { keyId, digest, reached: await reach(name, parts) };
  } catch (error) {
    if (error instanceof FleetError) return { credentials: error };
    throw error;
  }
}

async function reach(name: string, { fleet, clock, timeoutMilliseconds }: ProbeOptions) {
  try {
    const { client } = await fleet.connect(name, { kind: 'observe' }, {});
    const { kubernetesVersion, milliseconds } = await probe(name, client, { clock, timeoutMilliseconds });
    const { status } = await client.request({ method: 'GET', path: '/readyz', timeoutMilliseconds });
    // Some clusters do not serve /readyz to every user.
    return { kubernetesVersion, milliseconds, ready: status < 500 };
  } catch (error) {
    if (error instanceof FleetError && !isAboutCredentials(error)) return error;
    throw error;
  }
}

/** Seals the kubeconfig with the current key, so that an old key can be discarded once no Cluster uses it. */
async function resealIfNeeded(
  cluster: Cluster,
  { kubeconfig, keyId, sealed }: Awaited<ReturnType<typeof readCredentials>>,
  { source, log }: ProbeOptions,
): Promise<{ keyId: string; digest: string }> {
  const { sealing } = await source.keys.current();
  const known = { keyId, digest: sealed.digest };
  if (sealing.id === keyId) return known;
  const { name } = cluster.metadata;
  try {
    await replaceSealed(source.client, sealed, await sealKubeconfig(sealing, name, kubeconfig));
  } catch (error) {
    // Another writer was faster; the next probe sees the result.
    if (isConflict(error)) return known;
    throw error;
  }
  log.info('kubeconfig sealed with the new key', {
    audit: true,
    event: 'cluster.resealed',
    cluster: name,
    from: keyId,
    to: sealing.id,
  });
  const { sealed: now, keyId: nowKeyId } = await readCredentials(source, cluster);
  return { keyId: nowKeyId, digest: now.digest };
}
