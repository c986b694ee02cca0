/** Who is believed and who is not, as tables: the same tricks against tokens of brokers, signatures of brokers, and the platform's. */
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type CompactJWSHeaderParameters, CompactSign } from 'jose';
import { Registry } from 'prom-client';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Broker } from '../../api/index.ts';
import { type Logger, silentLogger } from '../../runtime/index.ts';
import type { LogFields } from '../../runtime/internal.ts';
import { FakeClock } from '../../runtime/testing/index.ts';
import { brokerVerifier, findBroker } from './broker-verifier.ts';
import type { IdentityError, RefusalReason } from './identity-error.ts';
import { type KeyRing, openKeyRing } from './key-ring.ts';
import { memoryKeyStore } from './key-store.ts';
import { identityMetrics } from './metrics.ts';
import { platformVerifier } from './platform-verifier.ts';

const clock = new FakeClock(Date.UTC(2026, 0, 1));
const now = clock.now() / 1000;
const scope = 'status:write';

const keys = {
  azure: generateKeyPairSync('ed25519'),
  aws: generateKeyPairSync('ed25519'),
  classic: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  stranger: generateKeyPairSync('ed25519'),
};
const jwk = (key: KeyObject, kid: string): string => JSON.stringify({ ...key.export({ format: 'jwk' }), kid });
const pem = keys.azure.publicKey.export({ format: 'pem', type: 'spki' }) as string;

const broker = (name: string, identity: Broker['spec']['identity']): Broker =>
  ({
    apiVersion: 'platform.company.com/v1',
    kind: 'Broker',
    metadata: { name },
    spec: { channel: 'HTTP', identity },
  }) as unknown as Broker;

const registered = (name: string, identity: Broker['spec']['identity'], publicKeys: string[] | undefined): Broker => ({
  ...broker(name, identity),
  ...(publicKeys && { status: { identity: { publicKeys, caBundle: '', generation: 1 } } }),
});

const brokers = [
  broker('azure', { publicKeys: [jwk(keys.azure.publicKey, 'azure-1'), jwk(keys.classic.publicKey, 'azure-2')] }),
  broker('aws', { publicKeys: [jwk(keys.aws.publicKey, 'aws-1')] }),
  broker('renamed', {
    issuer: 'https://issuer',
    subject: 'the-broker',
    publicKeys: [jwk(keys.azure.publicKey, 'azure-1')],
  }),
  broker('reader', { scopes: ['usage:read'], publicKeys: [jwk(keys.azure.publicKey, 'azure-1')] }),
  broker('twin-a', { issuer: 'twin', subject: 'twin', publicKeys: [jwk(keys.azure.publicKey, 'azure-1')] }),
  broker('twin-b', { issuer: 'twin', subject: 'twin', publicKeys: [jwk(keys.azure.publicKey, 'azure-1')] }),
  broker('keyless', {}),
  registered('registered', { keySource: 'Status' }, [jwk(keys.azure.publicKey, 'azure-1')]),
  registered('unpublished', { keySource: 'Status' }, undefined),
  // Somebody who may write the status of a Broker whose keys are in its spec.
  registered('usurped', {}, [jwk(keys.azure.publicKey, 'azure-1')]),
  registered('usurped-beside', { publicKeys: [jwk(keys.aws.publicKey, 'aws-1')] }, [
    jwk(keys.azure.publicKey, 'azure-1'),
  ]),
];

function verifier(log: Logger = silentLogger, registry?: Registry) {
  const metrics = registry && identityMetrics(registry);
  return brokerVerifier({ broker: (identity) => findBroker(brokers, identity), audience: 'kidp', log, clock, metrics });
}

const claims = { iss: 'azure', sub: 'azure', aud: 'kidp', scope, iat: now, exp: now + 300 };
type Claims = Readonly<Record<string, unknown>>;
type Header = Record<string, unknown>;

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

async function token(
  changes: Claims = {},
  header: Header = {},
  key: KeyObject = keys.azure.privateKey,
): Promise<string> {
  const merged = { ...claims, ...changes };
  return new CompactSign(Buffer.from(JSON.stringify(merged)))
    .setProtectedHeader({ alg: 'EdDSA', kid: 'azure-1', ...header } as CompactJWSHeaderParameters)
    .sign(key);
}

/** The symmetric signature that a careless library would check with the public key as its secret. */
function hs256(secret: string): string {
  const signed = `${encode({ alg: 'HS256', kid: 'azure-1' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

async function withPart(index: number, change: (part: string) => string): Promise<string> {
  const parts = (await token()).split('.');
  parts[index] = change(parts[index] ?? '');
  return parts.join('.');
}

const flip = (text: string): string => `${text.slice(0, -2)}${text.at(-2) === 'A' ? 'B' : 'A'}${text.at(-1)}`;

interface Row {
  reason: string;
  make: () => Promise<string> | string;
  refused: RefusalReason;
}

const rows: Row[] = [
  { reason: 'nothing', make: () => '', refused: 'malformed' },
  { reason: 'no token', make: () => 'secret', refused: 'malformed' },
  { reason: 'four parts', make: async () => `${await token()}.x`, refused: 'malformed' },
  { reason: 'not base64url', make: () => withPart(1, (part) => `${part}+/=`), refused: 'malformed' },
  { reason: 'claims that are a list', make: () => withPart(1, () => encode('[]')), refused: 'malformed' },
  { reason: 'claims that are no JSON', make: () => withPart(1, () => encode('{')), refused: 'malformed' },
  {
    reason: 'a claim twice',
    make: () => withPart(1, () => encode('{"iss":"aws","iss":"azure","sub":"azure"}')),
    refused: 'malformed',
  },
  {
    reason: 'a claim that reaches for the prototype',
    make: () => withPart(1, () => encode('{"__proto__":{"iss":"azure"}}')),
    refused: 'malformed',
  },
  {
    reason: 'alg twice',
    make: () => withPart(0, () => encode('{"alg":"none","alg":"EdDSA","kid":"azure-1"}')),
    refused: 'malformed',
  },
  { reason: 'too long', make: () => token({ padding: 'x'.repeat(9000) }), refused: 'oversized' },
  {
    reason: 'alg none',
    make: () => `${encode({ alg: 'none', kid: 'azure-1' })}.${encode(claims)}.`,
    refused: 'algorithm',
  },
  {
    reason: 'alg None',
    make: () => `${encode({ alg: 'None', kid: 'azure-1' })}.${encode(claims)}.`,
    refused: 'algorithm',
  },
  { reason: 'no alg', make: () => `${encode({ kid: 'azure-1' })}.${encode(claims)}.x`, refused: 'algorithm' },
  { reason: 'HS256 with the public key as secret, as PEM', make: () => hs256(pem), refused: 'algorithm' },
  {
    reason: 'HS256 with the public key as secret, as JWK',
    make: () => hs256(jwk(keys.azure.publicKey, 'azure-1')),
    refused: 'algorithm',
  },
  {
    reason: 'RS256',
    make: () => `${encode({ alg: 'RS256', kid: 'azure-1' })}.${encode(claims)}.x`,
    refused: 'algorithm',
  },
  {
    reason: 'the key is for another algorithm',
    make: () => token({}, { alg: 'ES256' }, keys.classic.privateKey),
    refused: 'algorithm',
  },
  { reason: 'no signature', make: () => withPart(2, () => ''), refused: 'forged' },
  { reason: 'a signature with a bit turned', make: () => withPart(2, flip), refused: 'forged' },
  {
    reason: 'claims that were changed afterwards',
    make: () => withPart(1, () => encode({ ...claims, exp: now + 301 })),
    refused: 'forged',
  },
  {
    reason: 'signed by a stranger under our id',
    make: () => token({}, {}, keys.stranger.privateKey),
    refused: 'forged',
  },
  {
    reason: 'the key is in the header',
    make: () => token({}, { jwk: keys.stranger.publicKey.export({ format: 'jwk' }) }, keys.stranger.privateKey),
    refused: 'forged',
  },
  {
    reason: 'the header says where the key is',
    make: () => token({}, { jku: 'https://evil', kid: 'evil' }, keys.stranger.privateKey),
    refused: 'unknown-key',
  },
  {
    reason: 'an extension that must be understood',
    make: async () => withPart(0, () => encode({ alg: 'EdDSA', kid: 'azure-1', crit: ['exp'], exp: 0 })),
    refused: 'critical-header',
  },
  {
    reason: 'payload not encoded (b64)',
    make: async () => withPart(0, () => encode({ alg: 'EdDSA', kid: 'azure-1', crit: ['b64'], b64: false })),
    refused: 'critical-header',
  },
  { reason: 'no key id', make: () => token({}, { kid: undefined }), refused: 'unknown-key' },
  {
    reason: 'a key id that is no text',
    make: () => withPart(0, () => encode({ alg: 'EdDSA', kid: 7 })),
    refused: 'unknown-key',
  },
  { reason: 'an unknown key id', make: () => token({}, { kid: 'azure-9' }), refused: 'unknown-key' },
  { reason: 'a key id that every object has', make: () => token({}, { kid: 'constructor' }), refused: 'unknown-key' },
  {
    reason: 'the key of another broker',
    make: () => token({}, { kid: 'aws-1' }, keys.aws.privateKey),
    refused: 'unknown-key',
  },
  {
    reason: 'aws says that it is azure',
    make: () => token({ iss: 'azure', sub: 'azure' }, {}, keys.aws.privateKey),
    refused: 'forged',
  },
  { reason: 'a Broker without keys', make: () => token({ iss: 'keyless', sub: 'keyless' }), refused: 'unknown-key' },
  ...['usurped', 'usurped-beside'].map((name) => ({
    reason: `keys in a status that its spec does not name: ${name}`,
    make: () => token({ iss: name, sub: name }),
    refused: 'unknown-key' as const,
  })),
  {
    reason: 'a key that a registered broker has not published',
    make: () => token({ iss: 'registered', sub: 'registered' }, { kid: 'aws-1' }, keys.aws.privateKey),
    refused: 'unknown-key',
  },
  { reason: 'no issuer', make: () => token({ iss: undefined }), refused: 'wrong-issuer' },
  { reason: 'an issuer that nobody has', make: () => token({ iss: 'gcp', sub: 'gcp' }), refused: 'wrong-issuer' },
  { reason: 'the subject of another', make: () => token({ sub: 'aws' }), refused: 'wrong-issuer' },
  { reason: 'an issuer that is no text', make: () => token({ iss: ['azure'] }), refused: 'wrong-issuer' },
  {
    reason: 'the name, where the Broker says otherwise',
    make: () => token({ iss: 'renamed', sub: 'renamed' }),
    refused: 'wrong-issuer',
  },
  { reason: 'two Brokers say to be it', make: () => token({ iss: 'twin', sub: 'twin' }), refused: 'wrong-issuer' },
  { reason: 'expired', make: () => token({ exp: now - 31 }), refused: 'expired' },
  { reason: 'never expires', make: () => token({ exp: undefined }), refused: 'malformed' },
  { reason: 'expires at a text', make: () => token({ exp: String(now + 300) }), refused: 'malformed' },
  { reason: 'lives for too long', make: () => token({ exp: now + 3700 }), refused: 'too-long-lived' },
  { reason: 'not yet', make: () => token({ nbf: now + 31 }), refused: 'not-yet-valid' },
  { reason: 'not before a text', make: () => token({ nbf: 'tomorrow' }), refused: 'malformed' },
  { reason: 'for somebody else', make: () => token({ aud: 'other' }), refused: 'wrong-audience' },
  { reason: 'for nobody', make: () => token({ aud: undefined }), refused: 'wrong-audience' },
  {
    reason: 'for somebody whose name begins alike',
    make: () => token({ aud: 'kidp-staging' }),
    refused: 'wrong-audience',
  },
  { reason: 'for others, several', make: () => token({ aud: ['a', 'b'] }), refused: 'wrong-audience' },
  { reason: 'no scope', make: () => token({ scope: undefined }), refused: 'missing-scope' },
  { reason: 'another scope', make: () => token({ scope: 'status:read status:writer' }), refused: 'missing-scope' },
  { reason: 'a scope as a list', make: () => token({ scope: [scope] }), refused: 'missing-scope' },
  {
    reason: 'a scope that the Broker was not given',
    make: () => token({ iss: 'reader', sub: 'reader' }),
    refused: 'missing-scope',
  },
];

describe('tokens of brokers that are refused', () => {
  test.each(rows)('$refused: $reason', async ({ make, refused }) => {
    const error = await verifier()
      .token(await make(), scope)
      .catch((caught: IdentityError) => caught);
    expect(error).toMatchObject({
      name: 'IdentityError',
      reason: refused,
      code: `identity/${refused}`,
      retryable: false,
    });
  });
});

describe('tokens of brokers that are believed', () => {
  test.each([
    { reason: 'as the contract says', make: () => token(), name: 'azure', keyId: 'azure-1' },
    {
      reason: 'ES256',
      make: () => token({}, { alg: 'ES256', kid: 'azure-2' }, keys.classic.privateKey),
      name: 'azure',
      keyId: 'azure-2',
    },
    { reason: 'with a clock that is behind', make: () => token({ exp: now - 29 }), name: 'azure', keyId: 'azure-1' },
    { reason: 'with a clock that is ahead', make: () => token({ nbf: now + 29 }), name: 'azure', keyId: 'azure-1' },
    { reason: 'for several', make: () => token({ aud: ['other', 'kidp'] }), name: 'azure', keyId: 'azure-1' },
    {
      reason: 'with several scopes',
      make: () => token({ scope: `usage:write ${scope}` }),
      name: 'azure',
      keyId: 'azure-1',
    },
    {
      reason: 'by the names that the Broker says',
      make: () => token({ iss: 'https://issuer', sub: 'the-broker' }),
      name: 'renamed',
      keyId: 'azure-1',
    },
    {
      reason: 'with a key that the broker has published in the status',
      make: () => token({ iss: 'registered', sub: 'registered' }),
      name: 'registered',
      keyId: 'azure-1',
    },
  ])('$reason', async ({ make, name, keyId }) => {
    expect(await verifier().token(await make(), scope)).toEqual({ name, channel: 'HTTP', keyId });
  });

  test('later, once the broker has published its keys', async () => {
    const refused = verifier().token(await token({ iss: 'unpublished', sub: 'unpublished' }), scope);
    await expect(refused).rejects.toMatchObject({ reason: 'keys-unavailable', retryable: true });
  });

  test('again and again, until it expires: what it reports has its effect once', async () => {
    const same = await token();
    const { token: verify } = verifier();
    expect(await verify(same, scope)).toEqual(await verify(same, scope));
  });
});

describe('signatures of brokers', () => {
  const bytes = Buffer.from('{"the":"event"}');
  const sign = async (
    header: Header = {},
    key: KeyObject = keys.azure.privateKey,
    of: Uint8Array = bytes,
  ): Promise<string> => {
    const all = { alg: 'EdDSA', kid: 'azure-1', iss: 'azure', sub: 'azure', ...header } as CompactJWSHeaderParameters;
    const [head, , signature] = (await new CompactSign(of).setProtectedHeader(all).sign(key)).split('.');
    return `${head}..${signature}`;
  };

  test('that are good', async () => {
    expect(await verifier().signature(bytes, await sign())).toEqual({
      name: 'azure',
      channel: 'Kafka',
      keyId: 'azure-1',
    });
    expect(
      await verifier().signature(bytes, await sign({ alg: 'ES256', kid: 'azure-2' }, keys.classic.privateKey)),
    ).toMatchObject({ keyId: 'azure-2' });
    expect(await verifier().signature(Buffer.alloc(0), await sign({}, undefined, Buffer.alloc(0)))).toMatchObject({
      name: 'azure',
    });
  });

  const bad: Row[] = [
    { reason: 'none', make: () => '', refused: 'malformed' },
    { reason: 'with the payload in it', make: () => token({}, { iss: 'azure', sub: 'azure' }), refused: 'malformed' },
    { reason: 'of other bytes', make: () => sign({}, undefined, Buffer.from('{"the":"other"}')), refused: 'forged' },
    {
      reason: 'of the same event with an extra space',
      make: () => sign({}, undefined, Buffer.from('{"the":"event"} ')),
      refused: 'forged',
    },
    { reason: 'of another broker', make: () => sign({}, keys.aws.privateKey), refused: 'forged' },
    {
      reason: 'by the id of another broker’s key',
      make: () => sign({ kid: 'aws-1' }, keys.aws.privateKey),
      refused: 'unknown-key',
    },
    {
      reason: 'of a broker without the scope',
      make: () => sign({ iss: 'reader', sub: 'reader' }),
      refused: 'missing-scope',
    },
    { reason: 'of nobody', make: () => sign({ iss: 'gcp', sub: 'gcp' }), refused: 'wrong-issuer' },
    {
      reason: 'without an issuer',
      make: () => sign({ iss: undefined, sub: undefined }),
      refused: 'wrong-issuer',
    },
    {
      reason: 'alg none',
      make: () => `${encode({ alg: 'none', kid: 'azure-1', iss: 'azure', sub: 'azure' })}..`,
      refused: 'algorithm',
    },
    {
      reason: 'not encoded (b64)',
      make: () =>
        `${encode({ alg: 'EdDSA', kid: 'azure-1', iss: 'azure', sub: 'azure', b64: false, crit: ['b64'] })}..x`,
      refused: 'critical-header',
    },
  ];
  test.each(bad)('$refused: $reason', async ({ make, refused }) => {
    await expect(verifier().signature(bytes, await make())).rejects.toMatchObject({ reason: refused });
  });
});

test('every refusal is logged and counted, and strangers make no labels', async () => {
  const registry = new Registry();
  const lines: LogFields[] = [];
  const log: Logger = { ...silentLogger, warn: (_message, fields = {}) => void lines.push(fields) };
  const { token: verify, signature } = verifier(log, registry);
  const secret = await token({ exp: now - 100 });
  await verify(secret, scope).catch(() => {});
  await verify(await token({ iss: 'made-up', sub: 'made-up' }), scope).catch(() => {});
  await signature(Buffer.from(''), 'x').catch(() => {});
  expect(lines).toMatchObject([
    { channel: 'HTTP', reason: 'expired', claimed: 'azure' },
    { channel: 'HTTP', reason: 'wrong-issuer', claimed: undefined },
    { channel: 'Kafka', reason: 'malformed', claimed: undefined },
  ]);
  expect(JSON.stringify(lines)).not.toContain(secret.split('.')[2]);
  const metrics = await registry.metrics();
  expect(metrics).toContain('kidp_broker_identity_refusals_total{broker="azure",channel="HTTP",reason="expired"} 1');
  expect(metrics).toContain(
    'kidp_broker_identity_refusals_total{broker="unknown",channel="HTTP",reason="wrong-issuer"} 1',
  );
  expect(metrics).not.toContain('made-up');
});

test('keys that are no keys are left out, and the others still count', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const identity = {
    publicKeys: [
      'nonsense',
      '{',
      '[]',
      rsa.publicKey.export({ format: 'pem', type: 'spki' }) as string,
      JSON.stringify({ kty: 'oct', k: encode('secret'), kid: 'azure-1' }),
      JSON.stringify({ ...keys.stranger.publicKey.export({ format: 'jwk' }), kid: 'azure-1', use: 'enc' }),
      JSON.stringify({ ...keys.stranger.publicKey.export({ format: 'jwk' }), kid: 'azure-1', alg: 'ES256' }),
      pem,
    ],
  };
  const { token: verify } = brokerVerifier({
    broker: () => broker('azure', identity),
    audience: 'kidp',
    log: silentLogger,
    clock,
  });
  await expect(verify(await token(), scope)).rejects.toMatchObject({ reason: 'unknown-key' });
  // A key in PEM form goes by its thumbprint.
  const { calculateJwkThumbprint } = await import('jose');
  const kid = await calculateJwkThumbprint(keys.azure.publicKey.export({ format: 'jwk' }));
  expect(await verify(await token({}, { kid }), scope)).toMatchObject({ keyId: kid });
});

describe('the platform, as brokers see it', () => {
  let ring: KeyRing;
  let other: KeyRing;
  beforeAll(async () => {
    ring = await openKeyRing(memoryKeyStore(), { issuer: 'kidp', subject: 'kidp', clock });
    other = await openKeyRing(memoryKeyStore(), { issuer: 'kidp', subject: 'kidp', clock });
  });
  const ours = () => platformVerifier({ jwks: () => ring.jwks(), audience: 'azure', clock });
  const bytes = Buffer.from('{}');

  test('is believed', async () => {
    const { kid } = ring.jwks().keys.find(({ use }) => use === 'sig') ?? {};
    expect(await ours().token(await ring.token({ audience: 'azure', scope: 'deployments:write' }))).toEqual({
      keyId: kid,
    });
    expect(await ours().signature(bytes, await ring.sign(bytes))).toEqual({ keyId: kid });
  });

  test.each([
    {
      reason: 'for another broker',
      make: () => ring.token({ audience: 'aws', scope: 'deployments:write' }),
      refused: 'wrong-audience',
    },
    {
      reason: 'for something else',
      make: () => ring.token({ audience: 'azure', scope: 'status:write' }),
      refused: 'missing-scope',
    },
    {
      reason: 'of another platform',
      make: () => other.token({ audience: 'azure', scope: 'deployments:write' }),
      refused: 'unknown-key',
    },
    { reason: 'of a broker', make: () => token({ aud: 'azure', scope: 'deployments:write' }), refused: 'wrong-issuer' },
  ])('$refused: a token $reason', async ({ make, refused }) => {
    await expect(ours().token(await make())).rejects.toMatchObject({ reason: refused });
  });

  test('a signature of another, of other bytes, and a token in its place are refused', async () => {
    await expect(ours().signature(bytes, await other.sign(bytes))).rejects.toMatchObject({ reason: 'unknown-key' });
    await expect(ours().signature(Buffer.from('{} '), await ring.sign(bytes))).rejects.toMatchObject({
      reason: 'forged',
    });
    const bearer = await ring.token({ audience: 'azure', scope: 'deployments:write' });
    await expect(ours().signature(bytes, bearer)).rejects.toMatchObject({ reason: 'malformed' });
  });
});
