import { expect, test, vi } from 'vitest';
import type { Broker } from '../../api/index.ts';
import { FakeClock } from '../../runtime/testing/index.ts';
import { brokerEncryption } from './broker-encryption.ts';
import { encryptTo } from './encryption.ts';
import { openKeyRing } from './key-ring.ts';
import { memoryKeyStore } from './key-store.ts';

const brokerWith = (spec: object, status?: object): Broker =>
  ({ metadata: { name: 'azure' }, spec, status }) as unknown as Broker;
const enc = { kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', kid: 'e', use: 'enc' };
const sig = { kty: 'OKP', crv: 'Ed25519', x: 'eA', kid: 's', use: 'sig' };
const endpoint = 'https://broker.example.com';

test.each([
  {
    reason: 'among the keys that its endpoint publishes',
    spec: { endpoint },
    document: { keys: [sig, enc] },
    key: enc,
    url: `${endpoint}/.well-known/jwks.json`,
  },
  {
    reason: 'where its identity says',
    spec: { endpoint, identity: { jwksUri: 'https://keys.example.com/set' } },
    document: { keys: [enc] },
    key: enc,
    url: 'https://keys.example.com/set',
  },
  {
    reason: 'given in the Broker itself',
    spec: { endpoint, identity: { publicKeys: ['-----BEGIN PUBLIC KEY-----', JSON.stringify(enc)] } },
    document: {},
    key: enc,
    url: undefined,
  },
  {
    reason: 'published by the broker in the status, and not asked for at its endpoint',
    spec: { endpoint, identity: { keySource: 'Status' } },
    status: { identity: { publicKeys: [JSON.stringify(sig), JSON.stringify(enc)], caBundle: '', generation: 1 } },
    document: {},
    key: enc,
    url: undefined,
  },
  {
    reason: 'nowhere: it is in a status that the spec does not name',
    spec: {},
    status: { identity: { publicKeys: [JSON.stringify(enc)], caBundle: '', generation: 1 } },
    document: {},
    key: undefined,
    url: undefined,
  },
  {
    reason: 'nowhere: it publishes keys for signatures alone',
    spec: { endpoint },
    document: { keys: [sig, { ...enc, use: 'sig' }, 'x', null] },
    key: undefined,
    url: `${endpoint}/.well-known/jwks.json`,
  },
  {
    reason: 'nowhere: what answers is no key set',
    spec: { endpoint },
    document: 'hello',
    key: undefined,
    url: `${endpoint}/.well-known/jwks.json`,
  },
  {
    reason: 'nowhere: it has no endpoint and no address of keys',
    spec: {},
    document: {},
    key: undefined,
    url: undefined,
  },
])('the key to encrypt to is found $reason', async ({ spec, status, document, key, url }) => {
  const fetch = vi.fn(async () => document as unknown);
  expect(await brokerEncryption({ fetch })(brokerWith(spec, status))).toEqual(key);
  expect(fetch.mock.calls.map((call: unknown[]) => (call[0] as { url: string }).url)).toEqual(
    url === undefined ? [] : [url],
  );
});

test('keys are fetched once in five minutes, and again at once where they could not be had', async () => {
  const clock = new FakeClock();
  const fetch = vi.fn(async (): Promise<unknown> => ({ keys: [enc] }));
  fetch.mockRejectedValueOnce(new Error('away'));
  const keyOf = brokerEncryption({ fetch, clock });
  const broker = brokerWith({ endpoint });
  await expect(keyOf(broker)).rejects.toThrow('away');
  expect(await keyOf(broker)).toEqual(enc);
  expect(await keyOf(broker)).toEqual(enc);
  expect(fetch).toHaveBeenCalledTimes(2);
  clock.jump(300_000);
  await keyOf(broker);
  expect(fetch).toHaveBeenCalledTimes(3);
});

test('what is encrypted to the key that a broker publishes, that broker opens', async () => {
  const ring = await openKeyRing(memoryKeyStore(), { issuer: 'azure', subject: 'azure' });
  try {
    const key = await brokerEncryption({ fetch: async () => ring.jwks() })(brokerWith({ endpoint }));
    expect(await ring.decrypt(await encryptTo(key ?? {}, { password: 'p' }))).toEqual({ password: 'p' });
  } finally {
    ring.close();
  }
});
