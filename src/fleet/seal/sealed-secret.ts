/** The Secret of a sealed kubeconfig, with a dedicated type, in the namespace of the platform. */
import { createHash } from 'node:crypto';
import {
  type Cluster,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  SEALED_KUBECONFIG_KEY,
  SEALED_KUBECONFIG_TYPE,
} from '../../api/index.ts';
import { type Client, isNotFound, type KubernetesObject } from '../../runtime/index.ts';
import { coreSecrets as secrets } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

export interface SecretObject extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
}

/** The field selector to watch them. */
export const sealedSecretSelector = `type=${SEALED_KUBECONFIG_TYPE}`;

export function sealedSecretName({ metadata, spec }: Pick<Cluster, 'metadata' | 'spec'>): string {
  return spec.credentials?.secretName ?? `cluster-${metadata.name}`;
}

export interface SealedSecret {
  readonly secret: SecretObject;
  /** The JWE. */
  readonly sealed: string;
  /** Changes whenever it is sealed again. */
  readonly digest: string;
}

/** `sealedSecret` returns the object to create. */
export function sealedSecret(namespace: string, name: string, sealed: string): SecretObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } },
    type: SEALED_KUBECONFIG_TYPE,
    data: { [SEALED_KUBECONFIG_KEY]: Buffer.from(sealed).toString('base64') },
  };
}

/**
 * `readSealedSecret` rejects with FleetError `cluster/credentials-missing` or, for another Secret type,
 * `cluster/tampered`.
 */
export async function readSealedSecret(client: Client, namespace: string, cluster: Cluster): Promise<SealedSecret> {
  const name = sealedSecretName(cluster);
  const { name: clusterName } = cluster.metadata;
  const secret = await client.get<SecretObject>(secrets, { namespace, name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new FleetError(
      'cluster/credentials-missing',
      `Secret ${namespace}/${name} with the kubeconfig of cluster ${clusterName} does not exist: create it with \`kidp clusters add ${clusterName} --replace\``,
    );
  });
  if (secret.type !== SEALED_KUBECONFIG_TYPE) {
    throw new FleetError(
      'cluster/tampered',
      `Secret ${namespace}/${name} of cluster ${clusterName} is not of type ${SEALED_KUBECONFIG_TYPE}: replace it with \`kidp clusters add ${clusterName} --replace\``,
    );
  }
  const sealed = Buffer.from(secret.data?.[SEALED_KUBECONFIG_KEY] ?? '', 'base64').toString('utf8');
  return { secret, sealed, digest: `sha256:${createHash('sha256').update(sealed).digest('hex')}` };
}

/** `replaceSealed` updates the Secret that was read; a concurrent change is a conflict. */
export async function replaceSealed(client: Client, { secret }: SealedSecret, sealed: string): Promise<SecretObject> {
  const data = { [SEALED_KUBECONFIG_KEY]: Buffer.from(sealed).toString('base64') };
  return client.update<SecretObject>(secrets, { ...secret, data }, { fieldManager: 'kidp-clusters' });
}
