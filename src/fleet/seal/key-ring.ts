/**
 * The keys that kubeconfigs are sealed with, as a JSON Web Key Set: the first seals, the others still open what was sealed with them
 * before. An error names the key by its place and quotes nothing of it.
 */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { ConfigError } from '../../runtime/index.ts';

export const SEALING_ALGORITHM = 'ECDH-ES+A256KW';
export const SEALING_ENCRYPTION = 'A256GCM';

/** What anybody may have: with it a kubeconfig is sealed, and none is opened. */
export interface SealingKey {
  readonly id: string;
  /** Public. */
  readonly jwk: JWK;
}

export interface KeyRing {
  /** What is sealed from now on is sealed with this. */
  readonly sealing: SealingKey;
  /** The private key of that id; undefined where there is none. */
  find(id: string): JWK | undefined;
}

const mostKeys = 32;
const mostCharacters = 65_536;

/** Rejects with a ConfigError that says what is wrong with which key. `place` is where they come from. */
export async function readKeyRing(text: string, place: string): Promise<KeyRing> {
  const refuse = (message: string): never => {
    throw new ConfigError({
      code: 'cluster-keys',
      message: `The keys for clusters in ${place} cannot be used: ${message}`,
      hint: 'It must be a JSON Web Key Set with private keys, as `kidp clusters keygen` prints one',
    });
  };
  if (text.length > mostCharacters) refuse(`it is longer than ${mostCharacters} characters`);
  const listed = keysIn(text) ?? refuse('it is no JSON with a list `keys`');
  if (listed.length === 0) refuse('it holds no key');
  if (listed.length > mostKeys) refuse(`it holds more than ${mostKeys} keys`);
  const keys = new Map<string, JWK>();
  let sealing: SealingKey | undefined;
  for (const [index, key] of listed.entries()) {
    const problem = problemWith(key);
    if (problem !== undefined) refuse(`keys[${index}] ${problem}`);
    const { kty, crv, x, y, d, kid } = key as JWK & { x: string };
    const jwk = (y === undefined ? { kty, crv, x } : { kty, crv, x, y }) as JWK;
    const id = typeof kid === 'string' ? kid : await calculateJwkThumbprint(jwk);
    if (keys.has(id)) refuse(`keys[${index}] has the id of one before it`);
    keys.set(id, { ...jwk, d } as JWK);
    sealing ??= { id, jwk: { ...jwk, kid: id, use: 'enc', alg: SEALING_ALGORITHM } as JWK };
  }
  return { sealing: sealing ?? refuse('it holds no key'), find: (id) => keys.get(id) };
}

/** A new key in front of those that were there: they go on opening what they sealed. */
export async function newKeySet(before?: string): Promise<string> {
  const { privateKey } = await generateKeyPair(SEALING_ALGORITHM, { crv: 'X25519', extractable: true });
  const jwk = await exportJWK(privateKey);
  const fresh = { ...jwk, kid: await calculateJwkThumbprint(jwk), use: 'enc', alg: SEALING_ALGORITHM };
  return `${JSON.stringify({ keys: [fresh, ...(before === undefined ? [] : (keysIn(before) ?? []))] }, null, 2)}\n`;
}

/** What was published by somebody else; undefined where it is no public key of ours. */
export async function readSealingKey(text: string): Promise<SealingKey | undefined> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isFields(value) || 'd' in value || !isCurve(value)) return undefined;
  const { kty, crv, x, y, kid } = value as JWK & { x: string };
  const jwk = (y === undefined ? { kty, crv, x } : { kty, crv, x, y }) as JWK;
  return { id: typeof kid === 'string' ? kid : await calculateJwkThumbprint(jwk), jwk };
}

function keysIn(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) && Array.isArray(value.keys) ? value.keys : undefined;
  } catch {
    return undefined;
  }
}

function problemWith(key: unknown): string | undefined {
  if (!isFields(key)) return 'is no object';
  if (!isCurve(key)) return 'is neither an OKP key on X25519 nor an EC key on P-256';
  if (typeof key.d !== 'string' || key.d === '') return 'has no private part (d)';
  if (key.use !== undefined && key.use !== 'enc') return 'is not for encryption (use)';
  if (key.alg !== undefined && key.alg !== SEALING_ALGORITHM)
    return `is for another algorithm than ${SEALING_ALGORITHM}`;
  if (key.kid !== undefined && (typeof key.kid !== 'string' || !/^[A-Za-z0-9._~-]{1,128}$/.test(key.kid))) {
    return 'has an id (kid) that is not made of 1 to 128 letters, digits, dots, dashes and underscores';
  }
  return undefined;
}

const isCurve = (key: Readonly<Record<string, unknown>>): boolean =>
  typeof key.x === 'string' &&
  ((key.kty === 'OKP' && key.crv === 'X25519') ||
    (key.kty === 'EC' && key.crv === 'P-256' && typeof key.y === 'string'));

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
