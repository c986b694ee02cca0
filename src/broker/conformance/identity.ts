/**
 * The platform's identity for a broker under test: a key that signs valid tokens, and every kind of token that must be
 * refused.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { DEPLOYMENTS_SCOPE } from '../identity/index.ts';

export interface SigningIdentity {
  readonly issuer: string;
  readonly keyId: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: JWK;
}

/** Uses a private JSON Web Key (Ed25519), or creates one. */
export async function signingIdentity(issuer: string, privateJwk?: JWK): Promise<SigningIdentity> {
  if (privateJwk !== undefined) {
    const privateKey = (await importJWK(privateJwk, 'EdDSA')) as CryptoKey;
    const { d: _, ...publicKey } = privateJwk;
    return { issuer, keyId: privateJwk.kid ?? 'conformance', privateKey, publicKey };
  }
  const pair = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  return { issuer, keyId: randomUUID(), privateKey: pair.privateKey, publicKey: await exportJWK(pair.publicKey) };
}

export const keySetOf = ({ keyId, publicKey }: SigningIdentity): object => ({
  keys: [{ ...publicKey, kid: keyId, use: 'sig', alg: 'EdDSA' }],
});

const minute = 60;

function claims(identity: SigningIdentity, broker: string, more: JWTPayload = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1000);
  const { issuer } = identity;
  return {
    iss: issuer,
    sub: issuer,
    aud: broker,
    scope: DEPLOYMENTS_SCOPE,
    iat: now,
    nbf: now,
    exp: now + 5 * minute,
    ...more,
  };
}

export const goodToken = (identity: SigningIdentity, broker: string): Promise<string> =>
  signed(identity.privateKey, identity.keyId, claims(identity, broker));

const signed = (key: CryptoKey, keyId: string | undefined, payload: JWTPayload): Promise<string> =>
  new SignJWT(payload)
    .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) })
    .sign(key);

interface BadToken {
  readonly id: string;
  readonly title: string;
  readonly token: string | undefined;
}

export async function badTokens(identity: SigningIdentity, broker: string): Promise<BadToken[]> {
  const { privateKey, keyId } = identity;
  const now = Math.floor(Date.now() / 1000);
  const stranger = await generateKeyPair('EdDSA', { crv: 'Ed25519' });
  const of = (more: JWTPayload, key = privateKey, kid: string | undefined = keyId) =>
    signed(key, kid, claims(identity, broker, more));
  const unsigned = (alg: string) =>
    [{ alg, typ: 'JWT', kid: keyId }, claims(identity, broker)].map((part) => base64(JSON.stringify(part))).join('.');
  return [
    { id: 'token-missing', title: 'a request without a token is refused', token: undefined },
    {
      id: 'token-forged',
      title: 'a token signed by another key with the same key id is refused',
      token: await of({}, stranger.privateKey),
    },
    {
      id: 'token-unknown-key',
      title: 'a token signed by an unknown key is refused',
      token: await of({}, stranger.privateKey, randomUUID()),
    },
    {
      id: 'token-no-key-id',
      title: 'a token without a key id is refused',
      token: await signed(privateKey, undefined, claims(identity, broker)),
    },
    {
      id: 'token-expired',
      title: 'an expired token is refused',
      token: await of({ iat: now - 900, nbf: now - 900, exp: now - 600 }),
    },
    {
      id: 'token-early',
      title: 'a token that is not valid yet is refused',
      token: await of({ nbf: now + 600, exp: now + 900 }),
    },
    {
      id: 'token-wrong-audience',
      title: 'a token for another broker is refused',
      token: await of({ aud: `${broker}-other` }),
    },
    {
      id: 'token-wrong-issuer',
      title: 'a token of another issuer is refused',
      token: await of({ iss: 'someone-else' }),
    },
    {
      id: 'token-missing-scope',
      title: 'a token without the scope is refused',
      token: await of({ scope: 'status:write' }),
    },
    { id: 'token-none', title: 'an unsigned token (alg none) is refused', token: `${unsigned('none')}.` },
    {
      id: 'token-hs256',
      title: 'a token signed with the public key as a secret (HS256) is refused',
      token: hmac(unsigned('HS256'), identity),
    },
  ];
}

function hmac(input: string, { publicKey }: SigningIdentity): string {
  return `${input}.${createHmac('sha256', publicKey.x ?? '')
    .update(input)
    .digest('base64url')}`;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64url');
