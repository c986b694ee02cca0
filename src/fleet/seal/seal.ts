/**
 * Seals and opens kubeconfigs: a JWE (AES-256-GCM, its key wrapped to the platform's public key) whose protected header
 * names the Cluster. Content that was sealed for another Cluster or modified does not open.
 */
import { CompactEncrypt, compactDecrypt, importJWK } from 'jose';
import { FleetError } from '../contract.ts';
import { type KeyRing, SEALING_ALGORITHM, SEALING_ENCRYPTION, type SealingKey } from './key-ring.ts';

const type = 'kidp-kubeconfig';
/** More than any kubeconfig with one context; a Secret holds a megabyte. */
const mostCharacters = 400_000;

export async function sealKubeconfig(key: SealingKey, cluster: string, kubeconfig: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(kubeconfig))
    .setProtectedHeader({ alg: SEALING_ALGORITHM, enc: SEALING_ENCRYPTION, typ: type, kid: key.id, cluster })
    .encrypt(await importJWK(key.jwk, SEALING_ALGORITHM));
}

interface OpenedKubeconfig {
  readonly kubeconfig: string;
  /** The id of the sealing key. */
  readonly keyId: string;
}

/** `openKubeconfig` rejects with FleetError `cluster/tampered` or `cluster/key-missing`. */
export async function openKubeconfig(ring: KeyRing, cluster: string, sealed: string): Promise<OpenedKubeconfig> {
  const keyId = keyIdFor(cluster, sealed);
  const key = ring.find(keyId);
  if (key === undefined) {
    throw new FleetError(
      'cluster/key-missing',
      `The kubeconfig of ${cluster} is sealed with the key ${keyId}, which the platform does not have: add that key to --cluster-keys, or replace the kubeconfig with \`kidp clusters add ${cluster} --replace\``,
    );
  }
  try {
    const { plaintext } = await compactDecrypt(sealed, await importJWK(key, SEALING_ALGORITHM), {
      keyManagementAlgorithms: [SEALING_ALGORITHM],
      contentEncryptionAlgorithms: [SEALING_ENCRYPTION],
      maxDecompressedLength: 0,
    });
    return { kubeconfig: Buffer.from(plaintext).toString('utf8'), keyId };
  } catch {
    throw tampered(cluster, 'it cannot be decrypted with the key that it names');
  }
}

/** The header is not trusted yet: it only selects the key. Its Cluster name is authenticated by opening. */
function keyIdFor(cluster: string, sealed: string): string {
  const header = headerOf(sealed);
  if (header === undefined) throw tampered(cluster, 'it is not a compact JWE');
  const { alg, enc, typ, kid, zip, crit } = header;
  if (alg !== SEALING_ALGORITHM || enc !== SEALING_ENCRYPTION || typ !== type) {
    throw tampered(cluster, `it is not a ${type} sealed with ${SEALING_ALGORITHM} and ${SEALING_ENCRYPTION}`);
  }
  if (zip !== undefined || crit !== undefined) throw tampered(cluster, 'its header contains zip or crit');
  if (header.cluster !== cluster) throw tampered(cluster, 'it was sealed for another Cluster');
  if (typeof kid !== 'string' || !/^[A-Za-z0-9._~-]{1,128}$/.test(kid)) throw tampered(cluster, 'it names no key');
  return kid;
}

function headerOf(sealed: string): Record<string, unknown> | undefined {
  const parts = sealed.length > mostCharacters ? [] : sealed.split('.');
  if (parts.length !== 5) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(parts[0] ?? '', 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function tampered(cluster: string, why: string): FleetError {
  return new FleetError(
    'cluster/tampered',
    `The sealed kubeconfig of ${cluster} was rejected: ${why}. Find out who modified its Secret, then replace it with \`kidp clusters add ${cluster} --replace\``,
  );
}
