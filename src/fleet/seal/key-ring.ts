/**
 * The sealing keys as a JSON Web Key Set: the first seals, the others only open what they sealed earlier. Errors name a
 * key by its index and quote nothing.
 */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { ConfigError } from '../../runtime/index.ts';

export const SEALING_ALGORITHM = 'ECDH-ES+A256KW';
export const SEALING_ENCRYPTION = 'A256GCM';

/** The public key: it seals kubeconfigs and opens none. */
export interface SealingKey {
  readonly id: string;
  /** The public JWK. */
  readonly jwk: JWK;
}

export interface KeyRing {
  /** The key for new seals. */
  readonly sealing: SealingKey;
  /** The private key with that id, if any. */
  find(id: string): JWK | undefined;
}

const mostKeys = 32;
const mostCharacters = 65_536;

/** `readKeyRing` rejects with a ConfigError that names the invalid key. `place` is the source of the keys. */
export async function readKeyRing(text: string, place: string): Promise<KeyRing> {
  const refuse = (message: string): never => {
    throw new ConfigError({
      code: 'cluster-keys',
      message: `The cluster sealing keys in ${place} are invalid: ${message}`,
      hint: 'Use a JSON Web Key Set with private keys, as printed by `kidp clusters keygen`',
    });
  };
  if (text.length > mostCharacters) refuse(`it is longer than ${mostCharacters} characters`);
  const listed = keysIn(text) ?? refuse('it is not JSON with a list `keys`');
  if (listed.length === 0) refuse('it contains no key');
  if (listed.length > mostKeys) refuse(`it contains more than ${mostKeys} keys`);
  const keys = new Map<string, JWK>();
  let sealing: SealingKey | undefined;
  for (const [index, key] of listed.entries()) {
    const problem = problemWith(key);
    if (problem !== undefined) refuse(`keys[${index}] ${problem}`);
    const { kty, crv, x, y, d, kid } = key as JWK & { x: string };
    const jwk = (y === undefined ? { kty, crv, x } : { kty, crv, x, y }) as JWK;
    const id = typeof kid === 'string' ? kid : await calculateJwkThumbprint(jwk);
    if (keys.has(id)) refuse(`keys[${index}] has a duplicate id`);
    keys.set(id, { ...jwk, d } as JWK);
    sealing ??= { id, jwk: { ...jwk, kid: id, use: 'enc', alg: SEALING_ALGORITHM } as JWK };
  }
  return { sealing: sealing ?? refuse('it contains no key'), find: (id) => keys.get(id) };
}

/** `newKeySet` puts a new key first; the existing ones still open what they sealed. */
export async function newKeySet(before?: string): Promise<string> {
  const { privateKey } = await generateKeyPair(SEALING_ALGORITHM, { crv: 'X25519', extractable: true });
  const jwk = await exportJWK(privateKey);
  const fresh = { ...jwk, kid: await calculateJwkThumbprint(jwk), use: 'enc', alg: SEALING_ALGORITHM };
  return `${JSON.stringify({ keys: [fresh, ...(before === undefined ? [] : (keysIn(before) ?? []))] }, null, 2)}\n`;
}

/** `readSealingKey` parses a published key; undefined if it is not a valid public key. */
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
  if (!isFields(key)) return 'is not an object';
  if (!isCurve(key)) return 'is neither an OKP key on X25519 nor an EC key on P-256';
  if (typeof key.d !== 'string' || key.d === '') return 'has no private part (d)';
  if (key.use !== undefined && key.use !== 'enc') return 'is not for encryption (use)';
  if (key.alg !== undefined && key.alg !== SEALING_ALGORITHM)
    return `is for another algorithm than ${SEALING_ALGORITHM}`;
  if (key.kid !== undefined && (typeof key.kid !== 'string' || !/^[A-Za-z0-9._~-]{1,128}$/.test(key.kid))) {
    return 'has an id (kid) that is not 1 to 128 letters, digits, dots, dashes and underscores';
  }
  return undefined;
}

const isCurve = (key: Readonly<Record<string, unknown>>): boolean =>
  typeof key.x === 'string' &&
  ((key.kty === 'OKP' && key.crv === 'X25519') ||
    (key.kty === 'EC' && key.crv === 'P-256' && typeof key.y === 'string'));

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
