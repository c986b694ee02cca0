/** The kubeconfig of a Cluster, for as long as somebody holds the answer: read from its Secret, opened, checked. */
import type { Cluster } from '../../api/index.ts';
import { type Client, type ClusterConfig, ConfigError } from '../../runtime/index.ts';
import { FleetError } from '../contract.ts';
import { readClusterKubeconfig } from '../kubeconfig/index.ts';
import { openKubeconfig, readSealedSecret, type SealedSecret, type SealingKeys } from '../seal/index.ts';

export interface CredentialsSource {
  /** Of the management cluster. */
  readonly client: Client;
  readonly systemNamespace: string;
  readonly keys: SealingKeys;
}

interface ClusterCredentials {
  readonly config: ClusterConfig;
  readonly kubeconfig: string;
  readonly sealed: SealedSecret;
  /** Of the key that it is sealed with. */
  readonly keyId: string;
}

/** Rejects with FleetError where they cannot be used. */
export async function readCredentials(source: CredentialsSource, cluster: Cluster): Promise<ClusterCredentials> {
  const sealed = await readSealedSecret(source.client, source.systemNamespace, cluster);
  const ring = await source.keys.current().catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    throw new FleetError('cluster/key-missing', error.message, { temporary: true });
  });
  const { kubeconfig, keyId } = await openKubeconfig(ring, cluster.metadata.name, sealed.sealed);
  return { config: readClusterKubeconfig(kubeconfig), kubeconfig, sealed, keyId };
}
