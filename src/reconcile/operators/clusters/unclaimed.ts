/**
 * Deletes sealed kubeconfigs that no Cluster references, because it was never registered or its Secret was replaced.
 * Users who add clusters therefore only need the permission to create Secrets.
 */
import { type Cluster, cluster as clusterKind } from '../../../api/index.ts';
import { type SecretObject, sealedSecretName } from '../../../fleet/index.ts';
import { type Client, isConflict, isNotFound, type Logger } from '../../../runtime/index.ts';
import { coreSecrets, liveReader } from '../../../runtime/internal.ts';

interface UnclaimedParts {
  readonly client: Client;
  /** From the cache. */
  readonly secrets: readonly SecretObject[];
  /** From the cache. */
  readonly clusters: readonly Cluster[];
  readonly now: number;
  /** How long a Secret may exist without a Cluster: it is created before its Cluster. */
  readonly patienceMilliseconds: number;
  readonly log: Logger;
}

export async function eraseUnclaimed(parts: UnclaimedParts): Promise<void> {
  const { client, now, patienceMilliseconds, log } = parts;
  const candidates = unclaimed(parts.secrets, parts.clusters).filter(
    ({ metadata }) => now - Date.parse(metadata.creationTimestamp ?? '') > patienceMilliseconds,
  );
  if (candidates.length === 0) return;
  // The cache may be stale, and a deletion cannot be undone.
  const clusters = await liveReader(client).list<Cluster>(clusterKind.resource);
  for (const { metadata } of unclaimed(candidates, clusters)) {
    const { namespace = '', name, uid = '', resourceVersion = '' } = metadata;
    try {
      await client.delete(coreSecrets, { namespace, name }, { preconditions: { uid, resourceVersion } });
      log.info('deleted a sealed kubeconfig without a Cluster', {
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
