/**
 * Encrypts credentials end to end: only the owner of the private key can read them, whatever Kafka, an outbox or a log
 * stores. Compression is rejected: a few bytes could expand to gigabytes, and the compressed length would leak content.
 */
import { CompactEncrypt, calculateJwkThumbprint, compactDecrypt, importJWK, type JWK } from 'jose';
import { parseStrictly } from '../../runtime/internal.ts';

export const ENCRYPTION_ALGORITHM = 'ECDH-ES+A256KW';
const contentEncryption = 'A256GCM';
const maxCharacters = 131_072;
const maxFields = 64;

/** Credentials that can never be read: the sender must encrypt them again, to the key that is published now. */
class DecryptionError extends Error {
  readonly code: string;

  constructor(reason: 'malformed' | 'algorithm' | 'unknown-key' | 'undecipherable', message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DecryptionError';
    this.code = `credentials/${reason}`;
  }
}

/** Encrypts to a public JSON Web Key (EC P-256 or OKP X25519). Rejects any other key. */
export async function encryptTo(
  jwk: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, string>>,
): Promise<string> {
  const { kty, crv, x, y, kid } = jwk as JWK;
  const isCurve = (kty === 'EC' && crv === 'P-256') || (kty === 'OKP' && crv === 'X25519');
  if (!isCurve)
    throw new DecryptionError('unknown-key', 'credentials must be encrypted to an EC P-256 key or an OKP X25519 key');
  const bare = (y === undefined ? { kty, crv, x } : { kty, crv, x, y }) as JWK;
  const header = {
    alg: ENCRYPTION_ALGORITHM,
    enc: contentEncryption,
    kid: typeof kid === 'string' ? kid : await calculateJwkThumbprint(bare),
  };
  return new CompactEncrypt(Buffer.from(JSON.stringify(value)))
    .setProtectedHeader(header)
    .encrypt(await importJWK(bare, ENCRYPTION_ALGORITHM));
}

/** Decrypts credentials. `privateKey` returns undefined for an unknown key id. Rejects with a `DecryptionError`. */
export async function decryptWith(
  privateKey: (keyId: string) => JWK | undefined,
  jwe: string,
): Promise<Record<string, string>> {
  const key = privateKey(parseKeyId(jwe));
  if (key === undefined)
    throw new DecryptionError('unknown-key', 'the credentials are encrypted to a key that is unknown or has expired');
  let plaintext: Uint8Array;
  try {
    const decrypted = await compactDecrypt(jwe, await importJWK(key, ENCRYPTION_ALGORITHM), {
      keyManagementAlgorithms: [ENCRYPTION_ALGORITHM],
      contentEncryptionAlgorithms: [contentEncryption],
      maxDecompressedLength: 0,
    });
    plaintext = decrypted.plaintext;
  } catch (cause) {
    throw new DecryptionError(
      'undecipherable',
      'the credentials cannot be decrypted with the key that they name',
      cause,
    );
  }
  return parseCredentials(plaintext);
}

function parseKeyId(jwe: string): string {
  const [head = '', ...others] = jwe.length > maxCharacters ? [] : jwe.split('.');
  const parsed = others.length === 4 ? parseStrictly(Buffer.from(head, 'base64url')) : { problem: 'five parts' };
  if ('problem' in parsed || typeof parsed.value !== 'object' || parsed.value === null) {
    throw new DecryptionError(
      'malformed',
      `credentials must be a JWE in compact form with at most ${maxCharacters} characters`,
    );
  }
  const { alg, enc, kid, zip, crit } = parsed.value as Record<string, unknown>;
  if (alg !== ENCRYPTION_ALGORITHM || enc !== contentEncryption || zip !== undefined || crit !== undefined) {
    throw new DecryptionError(
      'algorithm',
      `credentials must be encrypted with ${ENCRYPTION_ALGORITHM} and ${contentEncryption}, without zip and crit`,
    );
  }
  if (typeof kid !== 'string') throw new DecryptionError('unknown-key', 'the header must have the key id (`kid`)');
  return kid;
}

function parseCredentials(plaintext: Uint8Array): Record<string, string> {
  const parsed = parseStrictly(plaintext);
  const value = 'value' in parsed ? parsed.value : undefined;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = isObject ? Object.entries(value) : [];
  if (!isObject || entries.length > maxFields || !entries.every(([, text]) => typeof text === 'string')) {
    throw new DecryptionError('malformed', `credentials must be a JSON object with at most ${maxFields} string values`);
  }
  return Object.fromEntries(entries) as Record<string, string>;
}
