/**
 * Parses the keys that signatures are verified with. A key is for one algorithm, which follows from the key and never
 * from the token. This rules out algorithm confusion, such as a public key used as an HS256 secret.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';

type SigningAlgorithm = 'EdDSA' | 'ES256';

export interface VerificationKey {
  readonly keyId: string;
  readonly algorithm: SigningAlgorithm;
  readonly key: KeyObject;
}

/** Keys by key id. */
export type KeySet = ReadonlyMap<string, VerificationKey>;

/** More keys than a broker that rotates has. */
const maxKeys = 32;

/**
 * Parses a JSON Web Key Set. Keys for other uses and of other types are skipped; undefined if the value is not a key
 * set.
 */
export async function readKeySet(value: unknown): Promise<KeySet | undefined> {
  const keys = isRecord(value) ? value.keys : undefined;
  if (!Array.isArray(keys)) return undefined;
  const read = await Promise.all(keys.slice(0, maxKeys).map((jwk) => readJwk(jwk)));
  return new Map(read.filter((key) => key !== undefined).map((key) => [key.keyId, key]));
}

/** Parses PEM and JWK strings. An unusable key is skipped: the others still count. */
export async function readPublicKeys(texts: readonly string[]): Promise<KeySet> {
  const read = await Promise.all(texts.slice(0, maxKeys).map(readPublicKey));
  return new Map(read.filter((key) => key !== undefined).map((key) => [key.keyId, key]));
}

async function readPublicKey(text: string): Promise<VerificationKey | undefined> {
  try {
    if (text.trimStart().startsWith('{')) return await readJwk(JSON.parse(text));
    return await readJwk(createPublicKey(text).export({ format: 'jwk' }));
  } catch {
    return undefined;
  }
}

/** Parses a JWK. A key without an id is known by its thumbprint (RFC 7638). */
async function readJwk(jwk: unknown): Promise<VerificationKey | undefined> {
  if (!isRecord(jwk)) return undefined;
  const { kty, crv, x, y, use, alg, kid } = jwk as JWK;
  const algorithm = algorithmOf(kty, crv);
  if (algorithm === undefined || (use !== undefined && use !== 'sig')) return undefined;
  if (alg !== undefined && alg !== algorithm && !(algorithm === 'EdDSA' && alg === 'Ed25519')) return undefined;
  if (kid !== undefined && (typeof kid !== 'string' || kid === '' || kid.length > 256)) return undefined;
  try {
    // Only the public part is used: a private key that was published by mistake is not.
    const bare = (algorithm === 'EdDSA' ? { kty, crv, x } : { kty, crv, x, y }) as JWK;
    const key = createPublicKey({ key: bare as import('node:crypto').JsonWebKey, format: 'jwk' });
    return { keyId: kid ?? (await calculateJwkThumbprint(bare)), algorithm, key };
  } catch {
    return undefined;
  }
}

function algorithmOf(kty: unknown, crv: unknown): SigningAlgorithm | undefined {
  if (kty === 'OKP' && crv === 'Ed25519') return 'EdDSA';
  return kty === 'EC' && crv === 'P-256' ? 'ES256' : undefined;
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
