import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../runtime/index.ts';
import { FakeClock } from '../runtime/testing/index.ts';
import { authenticate } from './authenticate.ts';
import { type TokenKeys, tokenKeys } from './keys.ts';

let folder: string;
let server: Server;
let url: string;
let documents: Record<string, unknown>;
let asked: string[];
const pairs = new Map<string, { publicKey: CryptoKey; privateKey: CryptoKey }>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kidp-keys-'));
  for (const id of ['one', 'two']) pairs.set(id, await generateKeyPair('ES256'));
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const document = documents[request.url ?? ''];
    if (document === undefined) response.writeHead(500).end();
    else response.end(JSON.stringify(document));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  documents = {};
  asked = [];
});

const setOf = async (...ids: string[]) => ({
  keys: await Promise.all(
    ids.map(async (kid) => ({ ...(await exportJWK((pairs.get(kid) as { publicKey: CryptoKey }).publicKey)), kid })),
  ),
});

function caller(from: TokenKeys, clock = new FakeClock(Date.now())) {
  const rules = { keys: tokenKeys(from, { clock, log: silentLogger }), audience: 'a', clock };
  return async (kid: string) => {
    const { privateKey } = pairs.get(kid) as { privateKey: CryptoKey };
    const token = await new SignJWT({ sub: 'ann', aud: 'a', exp: Math.floor(clock.now() / 1000) + 3600 })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(privateKey);
    try {
      return (await authenticate(`Bearer ${token}`, rules)).user;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
}

test('re-reads a changed file for an unknown key id', async () => {
  const file = join(folder, 'jwks.json');
  await writeFile(file, JSON.stringify(await setOf('one')));
  const clock = new FakeClock(Date.now());
  const who = caller({ file }, clock);
  expect(await who('one')).toBe('ann');
  expect(await who('two')).toBe('unknown-key');
  await writeFile(file, JSON.stringify(await setOf('one', 'two')));
  expect(await who('two'), 'not at once: made-up key ids must not cause a refresh each').toBe('unknown-key');
  clock.jump(10_000);
  expect(await who('two')).toBe('ann');
});

test('discovers the keys of an issuer and rejects those of another issuer', async () => {
  documents['/.well-known/openid-configuration'] = { issuer: url, jwks_uri: `${url}/keys` };
  documents['/keys'] = await setOf('one');
  expect(await caller({ issuer: url })('one')).toBe('ann');
  documents['/.well-known/openid-configuration'] = { issuer: 'https://somebody.example.com', jwks_uri: `${url}/keys` };
  expect(await caller({ issuer: url })('one')).toBe('keys-unavailable');
});

test('fetches keys every five minutes and uses stale ones for up to an hour', async () => {
  documents['/keys'] = await setOf('one');
  const clock = new FakeClock(Date.now());
  const who = caller({ uri: `${url}/keys` }, clock);
  expect(await Promise.all([who('one'), who('one'), who('one')])).toEqual(['ann', 'ann', 'ann']);
  expect(asked).toEqual(['/keys']);
  documents = {};
  clock.jump(300_001);
  expect(await who('one')).toBe('ann');
  expect(asked).toHaveLength(2);
  clock.jump(3_600_000);
  expect(await who('one')).toBe('keys-unavailable');
});

test.each([
  { reason: 'the key set is unavailable', from: () => ({ uri: `${url}/none` }) },
  { reason: 'the file does not exist', from: () => ({ file: join(folder, 'none.json') }) },
  { reason: 'plain HTTP to a remote host', from: () => ({ uri: 'http://192.0.2.1/keys' }) },
])('rejects every token if $reason', async ({ from }) => {
  expect(await caller(from())('one')).toBe('keys-unavailable');
});
