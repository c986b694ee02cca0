/**
 * Reads the kubeconfig of a Cluster from its Secret, decrypts and validates it. It is kept only as long as the caller
 * holds it.
 */
import type { LookupFunction } from 'node:net';
import type { Cluster } from '../../api/index.ts';
import { type Client, type ClusterConfig, ConfigError } from '../../runtime/index.ts';
import { type AddressGuard, AddressRefusedError, portOf } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { readClusterKubeconfig } from '../kubeconfig/index.ts';
import { openKubeconfig, readSealedSecret, type SealedSecret, type SealingKeys } from '../seal/index.ts';

export interface CredentialsSource {
  /** The client of the management cluster. */
  readonly client: Client;
  readonly systemNamespace: string;
  readonly keys: SealingKeys;
  readonly guard?: AddressGuard | undefined;
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
  const config = readClusterKubeconfig(kubeconfig);
  await demandServer(source.guard, cluster.metadata.name, config);
  return { config, kubeconfig, sealed, keyId };
}

/** `demandServer` rejects with FleetError if the guard refuses the server. The message does not name it: it is secret. */
export async function demandServer(
  guard: AddressGuard | undefined,
  cluster: string,
  { server }: ClusterConfig,
): Promise<void> {
  const url = new URL(server);
  await guard?.check(url.hostname, portOf(url)).catch((error: unknown) => {
    // A name that does not resolve is reported by the connection.
    if (!(error instanceof AddressRefusedError)) return;
    throw new FleetError(
      'cluster/kubeconfig-refused',
      `The server in the kubeconfig of cluster ${cluster} is refused: its address is loopback, link-local, reserved or a cloud metadata address. A platform administrator can allow it with --allow-address HOST:PORT`,
    );
  });
}

/** The DNS lookup of connections to the server: what resolved to an allowed address may resolve to another one now. */
export const lookupFor = (guard: AddressGuard | undefined, { server }: ClusterConfig): LookupFunction | undefined =>
  guard?.lookup(portOf(new URL(server)));
