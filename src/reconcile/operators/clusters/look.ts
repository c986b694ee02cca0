/** Looks at a Cluster: opens its kubeconfig, seals it anew where the key has changed, and asks the cluster how it fares. */
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
import { isAboutCredentials, type Look } from './health.ts';

interface LookParts {
  readonly source: CredentialsSource;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timeoutMilliseconds: number;
}

/** What is wrong with the Cluster is the answer; rejects with what is wrong elsewhere. */
export async function lookAt(cluster: Cluster, parts: LookParts): Promise<Look> {
  const { source, fleet } = parts;
  const { name } = cluster.metadata;
  try {
    const credentials = await readCredentials(source, cluster);
    const { sealed } = credentials;
    // Somebody else's kubeconfig: nothing that was opened with the last one goes on.
    if (cluster.status?.credentialsDigest !== undefined && cluster.status.credentialsDigest !== sealed.digest)
      fleet.forget(name);
    const { keyId, digest } = await sealedAnew(cluster, credentials, parts);
    return { keyId, digest, reached: await reach(name, parts) };
  } catch (error) {
    if (error instanceof FleetError) return { credentials: error };
    throw error;
  }
}

async function reach(name: string, { fleet, clock, timeoutMilliseconds }: LookParts) {
  try {
    const { client } = await fleet.connect(name, { kind: 'observe' }, {});
    const { kubernetesVersion, milliseconds } = await probe(name, client, { clock, timeoutMilliseconds });
    const { status } = await client.request({ method: 'GET', path: '/readyz', timeoutMilliseconds });
    // Some clusters do not tell everybody.
    return { kubernetesVersion, milliseconds, ready: status < 500 };
  } catch (error) {
    if (error instanceof FleetError && !isAboutCredentials(error)) return error;
    throw error;
  }
}

/** With the key that seals now, so that the one of before can be thrown away when no Cluster names it any more. */
async function sealedAnew(
  cluster: Cluster,
  { kubeconfig, keyId, sealed }: Awaited<ReturnType<typeof readCredentials>>,
  { source, log }: LookParts,
): Promise<{ keyId: string; digest: string }> {
  const { sealing } = await source.keys.current();
  const known = { keyId, digest: sealed.digest };
  if (sealing.id === keyId) return known;
  const { name } = cluster.metadata;
  try {
    await replaceSealed(source.client, sealed, await sealKubeconfig(sealing, name, kubeconfig));
  } catch (error) {
    // Somebody was faster; the next look sees what they did.
    if (isConflict(error)) return known;
    throw error;
  }
  log.info('a kubeconfig was sealed with the new key', {
    audit: true,
    event: 'cluster.resealed',
    cluster: name,
    from: keyId,
    to: sealing.id,
  });
  const { sealed: now, keyId: nowKeyId } = await readCredentials(source, cluster);
  return { keyId: nowKeyId, digest: now.digest };
}
