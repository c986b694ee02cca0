/**
 * Reads the kubeconfig of a Cluster from its Secret, decrypts and validates it. It is kept only as long as the caller
 * holds it.
 */
import type { Cluster } from '../../api/index.ts';
import { type Client, type ClusterConfig, ConfigError } from '../../runtime/index.ts';
import { FleetError } from '../contract.ts';
import { readClusterKubeconfig } from '../kubeconfig/index.ts';
import { openKubeconfig, readSealedSecret, type SealedSecret, type SealingKeys } from '../seal/index.ts';

export interface CredentialsSource {
  /** The client of the management cluster. */
  readonly client: Client;
  readonly systemNamespace: string;
  readonly keys: SealingKeys;
}

interface ClusterCredentials {
  readonly config: ClusterConfig;
  readonly kubeconfig: string;
  readonly sealed: SealedSecret;
  /** The id of the sealing key. */
  readonly keyId: string;
}

/** Rejects with FleetError if the credentials cannot be used. */
export async function readCredentials(source: CredentialsSource, cluster: Cluster): Promise<ClusterCredentials> {
  const sealed = await readSealedSecret(source.client, source.systemNamespace, cluster);
  const ring = await source.keys.current().catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    throw new FleetError('cluster/key-missing', error.message, { temporary: true });
  });
  const { kubeconfig, keyId } = await openKubeconfig(ring, cluster.metadata.name, sealed.sealed);
  return { config: readClusterKubeconfig(kubeconfig), kubeconfig, sealed, keyId };
}
