/**
 * Parses a compact JWS before anything in it is trusted, and verifies its signature; nothing else in kidp verifies one.
 * Features that jose supports and kidp does not need (other algorithms, `crit`, keys in the header) are rejected here.
 */
import { compactVerify } from 'jose';
import { parseStrictly } from '../../runtime/internal.ts';
import { IdentityError } from './identity-error.ts';
import type { VerificationKey } from './public-keys.ts';

/** The maximum size of a token or a detached signature. */
const MAX_TOKEN_BYTES = 8192;

export interface UnverifiedJws {
  readonly keyId: string;
  readonly header: Readonly<Record<string, unknown>>;
  /** Header, payload and signature as received. */
  readonly parts: readonly [string, string, string];
}

const part = /^[A-Za-z0-9_-]*$/;

/** Parses a compact JWS. Throws an `IdentityError` if it is malformed or uses an unsupported feature. */
export function parseJws(text: string): UnverifiedJws {
  if (text.length > MAX_TOKEN_BYTES) {
    throw new IdentityError('oversized', `a token or signature must have at most ${MAX_TOKEN_BYTES} characters`);
  }
  const [head = '', payload = '', signature = '', ...more] = text.split('.');
  if (head === '' || more.length > 0 || ![head, payload, signature].every((each) => part.test(each))) {
    throw new IdentityError('malformed', 'not a JWS in compact form (three base64url parts, joined by dots)');
  }
  const header = decodeObject(head, 'header');
  const { alg, kid, crit } = header;
  if (alg !== 'EdDSA' && alg !== 'ES256') {
    throw new IdentityError('algorithm', 'must be signed with EdDSA (Ed25519) or ES256');
  }
  if (crit !== undefined) throw new IdentityError('critical-header', 'extensions (`crit`) are not supported');
  if (typeof kid !== 'string' || kid === '' || kid.length > 256) {
    throw new IdentityError('unknown-key', 'the header must have the id (`kid`) of the signing key');
  }
  if (signature === '') throw new IdentityError('forged', 'not signed');
  return { keyId: kid, header, parts: [head, payload, signature] };
}

export const parseClaims = ({ parts }: UnverifiedJws): Readonly<Record<string, unknown>> =>
  decodeObject(parts[1], 'claims');

/** Throws an `IdentityError` unless this key has signed this payload under this header. */
export async function verifySignature({ parts, header }: UnverifiedJws, key: VerificationKey, payload?: Uint8Array) {
  if (header.alg !== key.algorithm) {
    throw new IdentityError('algorithm', `the key ${quoteKeyId(key.keyId)} is for ${key.algorithm}`);
  }
  const [head, own, signature] = parts;
  const signed = payload === undefined ? own : Buffer.from(payload).toString('base64url');
  try {
    await compactVerify(`${head}.${signed}.${signature}`, key.key, { algorithms: [key.algorithm] });
  } catch (cause) {
    throw new IdentityError('forged', `the key ${quoteKeyId(key.keyId)} did not sign this`, { cause });
  }
}

/** Quotes a key id for messages, shortened because a sender may choose a long one. */
export const quoteKeyId = (keyId: string): string => JSON.stringify(keyId.slice(0, 64));

function decodeObject(encoded: string, what: string): Readonly<Record<string, unknown>> {
  const parsed = parseStrictly(Buffer.from(encoded, 'base64url'));
  const value = 'value' in parsed ? parsed.value : undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const problem = 'problem' in parsed ? parsed.problem : 'not a JSON object';
    throw new IdentityError('malformed', `cannot parse its ${what}: ${problem}`);
  }
  return value as Readonly<Record<string, unknown>>;
}
