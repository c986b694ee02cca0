import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { CompactEncrypt, decodeJwt, importJWK, type JWK } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../runtime/index.ts';
import { eventually, FakeClock } from '../../runtime/testing/index.ts';
import { encryptTo } from './encryption.ts';
import { type KeyRing, type KeyRingOptions, openKeyRing } from './key-ring.ts';
import { fileKeyStore, type KeyStore, memoryKeyStore } from './key-store.ts';
import { platformVerifier } from './platform-verifier.ts';

const day = 86_400_000;
const rings: KeyRing[] = [];
const directories: string[] = [];
afterEach(async () => {
  for (const ring of rings.splice(0)) ring.close();
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true });
});

async function open(store: KeyStore = memoryKeyStore(), options: Partial<KeyRingOptions> = {}): Promise<KeyRing> {
  const ring = await openKeyRing(store, { issuer: 'kidp', subject: 'kidp', ...options });
  rings.push(ring);
  return ring;
}

const idsOf = (ring: KeyRing, use: 'sig' | 'enc'): unknown[] =>
  ring
    .jwks()
    .keys.filter((key) => key.use === use)
    .map(({ kid }) => kid);
const kidIn = (jws: string): unknown => JSON.parse(Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString()).kid;

test('what is published holds no private part', async () => {
  const ring = await open();
  const all = [...ring.jwks().keys, ring.encryptionKey()];
  expect(all.map(({ kty, use, alg }) => ({ kty, use, alg }))).toEqual([
    { kty: 'OKP', use: 'sig', alg: 'EdDSA' },
    { kty: 'EC', use: 'enc', alg: 'ECDH-ES+A256KW' },
    { kty: 'EC', use: 'enc', alg: 'ECDH-ES+A256KW' },
  ]);
  for (const key of all) expect(key).not.toHaveProperty('d');
});

describe('tokens', () => {
  test('say who, for whom, for what and until when, an hour at most', async () => {
    const clock = new FakeClock();
    const ring = await open(undefined, { clock });
    const now = clock.now() / 1000;
    expect(decodeJwt(await ring.token({ audience: 'azure', scope: 'a b' }))).toEqual({
      iss: 'kidp',
      sub: 'kidp',
      aud: 'azure',
      scope: 'a b',
      iat: now,
      nbf: now,
      exp: now + 300,
    });
    expect(decodeJwt(await ring.token({ audience: 'azure', scope: 'a', ttlSeconds: 1e9 })).exp).toBe(now + 3600);
  });

  test('are the same until they are near their end, and then others', async () => {
    const clock = new FakeClock();
    const ring = await open(undefined, { clock });
    const ask = () => ring.token({ audience: 'azure', scope: 'a' });
    const first = await ask();
    await clock.advance(200_000);
    expect(await ask()).toBe(first);
    await clock.advance(50_000);
    expect(await ask()).not.toBe(first);
    expect(await ring.token({ audience: 'aws', scope: 'a' })).not.toBe(await ask());
  });
});

describe('rotation', () => {
  test('publishes a key before it signs with it, and keeps the one before for what it has signed', async () => {
    const clock = new FakeClock();
    const ring = await open(undefined, { clock, refreshMilliseconds: day / 4, lives: { ahead: day } });
    const bytes = Buffer.from('x');
    const verifier = platformVerifier({ jwks: () => ring.jwks(), audience: 'azure', clock });
    const [first] = idsOf(ring, 'sig');
    const early = await ring.sign(bytes);
    await clock.advance(29.5 * day);
    const [, second] = idsOf(ring, 'sig');
    expect([idsOf(ring, 'sig').length, kidIn(await ring.sign(bytes))]).toEqual([2, first]);
    await clock.advance(day);
    expect(kidIn(await ring.sign(bytes))).toBe(second);
    await clock.advance(7 * day);
    await expect(verifier.signature(bytes, early)).resolves.toEqual({ keyId: first });
    await clock.advance(day);
    await expect(verifier.signature(bytes, early)).rejects.toMatchObject({ reason: 'unknown-key' });
    expect(idsOf(ring, 'sig')).toEqual([second]);
  });

  test('over months keeps a few keys', async () => {
    const clock = new FakeClock();
    const ring = await open(undefined, { clock, refreshMilliseconds: day / 4, lives: { ahead: day } });
    for (let month = 0; month < 6; month += 1) {
      await clock.advance(30 * day);
      expect(ring.jwks().keys.length).toBeLessThanOrEqual(4);
    }
  });

  test('what was encrypted to the key before can still be read', async () => {
    const clock = new FakeClock();
    const ring = await open(undefined, { clock, lives: { ahead: 0 } });
    const before = await encryptTo(ring.encryptionKey(), { password: 'x' });
    await clock.advance(1);
    await ring.rotate();
    expect(kidIn(await encryptTo(ring.encryptionKey(), {}))).not.toBe(kidIn(before));
    expect(await ring.decrypt(before)).toEqual({ password: 'x' });
  });

  test('asked for twice is done once while the new key waits', async () => {
    const ring = await open();
    await ring.rotate();
    await ring.rotate();
    expect(idsOf(ring, 'sig')).toHaveLength(2);
  });

  test('replicas that share a store end up with the same keys, whoever is first', async () => {
    const store = memoryKeyStore();
    const clock = new FakeClock();
    const replicas = await Promise.all([1, 2, 3].map(() => open(store, { clock, refreshMilliseconds: 3_600_000 })));
    await clock.advance(31 * day);
    const [first, ...others] = replicas.map((ring) => JSON.stringify(ring.jwks()));
    expect(others).toEqual([first, first]);
    expect(idsOf(replicas[0] as KeyRing, 'sig')).toHaveLength(2);
  });

  test('if the store is unavailable, the known keys stay in use and a warning is logged', async () => {
    const clock = new FakeClock();
    const inner = memoryKeyStore();
    let away = false;
    const warnings: string[] = [];
    const store: KeyStore = { ...inner, read: () => (away ? Promise.reject(new Error('away')) : inner.read()) };
    const log: Logger = { ...silentLogger, warn: () => void warnings.push('warned') };
    const ring = await open(store, { clock, log });
    away = true;
    await clock.advance(120_000);
    expect([warnings.length, kidIn(await ring.sign(Buffer.from('')))]).toEqual([2, idsOf(ring, 'sig')[0]]);
    ring.close();
    expect(clock.pending).toBe(0);
  });
});

describe('stores', () => {
  const place = async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kidp-keys-'));
    directories.push(directory);
    return join(directory, 'below', 'keys.json');
  };

  test('a file is for its owner alone, and is the same keys after a restart', async () => {
    const path = await place();
    const first = await open(fileKeyStore(path));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await open(fileKeyStore(path))).jwks()).toEqual(first.jwks());
  });

  test('instances that start at the same time have the same keys', async () => {
    const path = await place();
    const [first, ...others] = await Promise.all([1, 2, 3, 4].map(() => open(fileKeyStore(path))));
    for (const other of others) expect(other.jwks()).toEqual(first?.jwks());
    expect(await readdir(dirname(path))).toEqual(['keys.json']);
  });

  test('a file that others can read is not used', async () => {
    const path = await place();
    await open(fileKeyStore(path));
    await chmod(path, 0o644);
    await expect(open(fileKeyStore(path))).rejects.toMatchObject({ code: 'config/keys-readable' });
  });

  test.each([
    '',
    '{',
    '{"version":1,"keys":[{}]}',
    '{"version":9,"keys":[]}',
  ])('%j are no keys: nothing is written over them', async (text) => {
    const path = await place();
    await open(fileKeyStore(path));
    await writeFile(path, text, { mode: 0o600 });
    await expect(open(fileKeyStore(path))).rejects.toMatchObject({
      code: 'config/keys',
      message: expect.stringContaining(path),
    });
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  test('keys that somebody deletes are put back by who has them', async () => {
    const path = await place();
    const clock = new FakeClock();
    const ring = await open(fileKeyStore(path), { clock, refreshMilliseconds: 1000 });
    await rm(path);
    await clock.advance(1000);
    await eventually(() => stat(path));
    expect((await open(fileKeyStore(path), { clock })).jwks()).toEqual(ring.jwks());
  });

  test('others that write all the time end in an error, not in a loop', async () => {
    const busy: KeyStore = { ...memoryKeyStore(), write: async () => 'conflict' };
    await expect(open(busy)).rejects.toThrow('too many concurrent writes');
  });
});

describe('credentials', () => {
  const header = (ring: KeyRing, more: object = {}) => ({
    alg: 'ECDH-ES+A256KW',
    enc: 'A256GCM',
    kid: String(ring.encryptionKey().kid),
    ...more,
  });
  const encrypt = async (ring: KeyRing, protectedHeader: object, text: string | Uint8Array = '{"a":"b"}') =>
    new CompactEncrypt(Buffer.from(text as string))
      .setProtectedHeader(protectedHeader as never)
      .encrypt(await importJWK(ring.encryptionKey() as JWK, 'ECDH-ES+A256KW'));

  test('reach who they are for, and nobody else', async () => {
    const [ring, other] = [await open(), await open()];
    const jwe = await encryptTo(ring.encryptionKey(), { user: 'u', password: 'p' });
    expect(await ring.decrypt(jwe)).toEqual({ user: 'u', password: 'p' });
    await expect(other.decrypt(jwe)).rejects.toMatchObject({ code: 'credentials/unknown-key' });
    expect(Buffer.from(jwe, 'base64url').toString('latin1')).not.toContain('password');
  });

  test.each<{ reason: string; make: (ring: KeyRing, other: KeyRing) => Promise<string> | string; code: string }>([
    { reason: 'nothing', make: () => '', code: 'malformed' },
    { reason: 'five parts of nothing', make: () => '....', code: 'malformed' },
    { reason: 'too long', make: () => `${'a'.repeat(200_000)}.a.a.a.a`, code: 'malformed' },
    {
      reason: 'to another key, under our id',
      make: (ring, other) => encrypt(other, header(ring)),
      code: 'undecipherable',
    },
    { reason: 'without an id', make: (ring) => encrypt(ring, header(ring, { kid: undefined })), code: 'unknown-key' },
    { reason: 'compressed', make: (ring) => encrypt(ring, header(ring, { zip: 'DEF' })), code: 'algorithm' },
    {
      reason: 'a bomb',
      make: (ring) => encrypt(ring, header(ring, { zip: 'DEF' }), ' '.repeat(10_000_000)),
      code: 'algorithm',
    },
    {
      reason: 'a bomb that was packed by hand and does not say so',
      make: (ring) => encrypt(ring, header(ring), deflateRawSync(Buffer.alloc(1_000_000))),
      code: 'malformed',
    },
    {
      reason: 'another way to agree on a key',
      make: (ring) => encrypt(ring, header(ring, { alg: 'ECDH-ES' })),
      code: 'algorithm',
    },
    {
      reason: 'another cipher',
      make: (ring) => encrypt(ring, header(ring, { enc: 'A128CBC-HS256' })),
      code: 'algorithm',
    },
    { reason: 'a list', make: (ring) => encrypt(ring, header(ring), '["a"]'), code: 'malformed' },
    {
      reason: 'values that are no texts',
      make: (ring) => encrypt(ring, header(ring), '{"port":5432}'),
      code: 'malformed',
    },
    { reason: 'a field twice', make: (ring) => encrypt(ring, header(ring), '{"a":"b","a":"c"}'), code: 'malformed' },
    { reason: 'a prototype', make: (ring) => encrypt(ring, header(ring), '{"__proto__":"x"}'), code: 'malformed' },
    {
      reason: 'too many fields',
      make: (ring) =>
        encrypt(
          ring,
          header(ring),
          JSON.stringify(Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, '']))),
        ),
      code: 'malformed',
    },
    {
      reason: 'a bit turned',
      make: async (ring) =>
        (await encryptTo(ring.encryptionKey(), { a: 'b' })).replace(/.(.)$/, (end) =>
          end.startsWith('A') ? `B${end[1]}` : `A${end[1]}`,
        ),
      code: 'undecipherable',
    },
  ])('$code: $reason', async ({ make, code }) => {
    const [ring, other] = [await open(), await open()];
    await expect(ring.decrypt(await make(ring, other))).rejects.toMatchObject({
      name: 'DecryptionError',
      code: `credentials/${code}`,
    });
  });

  test.each([
    {},
    { kty: 'RSA', n: 'x', e: 'AQAB' },
    { kty: 'OKP', crv: 'Ed25519', x: 'x' },
    { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' },
  ])('are not encrypted to %j', async (key) => {
    await expect(encryptTo(key, { a: 'b' })).rejects.toThrow();
  });
});
