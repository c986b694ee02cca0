/**
 * Sealed kubeconfigs that no Cluster names: of one that was never registered, or that was replaced. They are erased after a while, so
 * that who adds a cluster needs no more than the right to create a Secret.
 */
import { type Cluster, cluster as clusterKind } from '../../../api/index.ts';
import { type SecretObject, sealedSecretName } from '../../../fleet/index.ts';
import { type Client, isConflict, isNotFound, type Logger } from '../../../runtime/index.ts';
import { coreSecrets, liveReader } from '../../../runtime/internal.ts';

interface UnclaimedParts {
  readonly client: Client;
  /** Those that are there, as of a moment ago. */
  readonly secrets: readonly SecretObject[];
  /** As of a moment ago. */
  readonly clusters: readonly Cluster[];
  readonly now: number;
  /** A Secret is made before its Cluster: so long it may stay without one. */
  readonly patienceMilliseconds: number;
  readonly log: Logger;
}

export async function eraseUnclaimed(parts: UnclaimedParts): Promise<void> {
  const { client, now, patienceMilliseconds, log } = parts;
  const candidates = unclaimed(parts.secrets, parts.clusters).filter(
    ({ metadata }) => now - Date.parse(metadata.creationTimestamp ?? '') > patienceMilliseconds,
  );
  if (candidates.length === 0) return;
  // What is decided from a cache may be a moment old, and this is not taken back.
  const clusters = await liveReader(client).list<Cluster>(clusterKind.resource);
  for (const { metadata } of unclaimed(candidates, clusters)) {
    const { namespace = '', name, uid = '', resourceVersion = '' } = metadata;
    try {
      await client.delete(coreSecrets, { namespace, name }, { preconditions: { uid, resourceVersion } });
      log.info('a sealed kubeconfig that no Cluster names was erased', {
        audit: true,
        event: 'cluster.unclaimed',
        secret: name,
      });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

function unclaimed(secrets: readonly SecretObject[], clusters: readonly Cluster[]): SecretObject[] {
  const claimed = new Set(clusters.map(sealedSecretName));
  return secrets.filter(({ metadata }) => !claimed.has(metadata.name));
}
