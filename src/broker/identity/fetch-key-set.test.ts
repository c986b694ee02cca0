/** Key servers as they may be, on real sockets: none of them is followed, waited for, or read without end. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { issueAuthority, issueLeaf } from '../../runtime/internal.ts';
import { fetchKeySet } from './fetch-key-set.ts';

const key = { ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }), kid: 'one' };
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(answer: Answer): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
}

const json =
  (value: unknown): Answer =>
  (_request, response) =>
    void response.end(JSON.stringify(value));

test('a key set is read; what is no key for signatures is left alone', async () => {
  const url = await serve(
    json({ keys: [key, null, 7, { kty: 'RSA' }, { ...key, kid: 'enc', use: 'enc' }, { ...key, kid: '' }] }),
  );
  expect([...(await fetchKeySet({ url })).keys()]).toEqual(['one']);
});

test('no more keys than anybody needs', async () => {
  const url = await serve(json({ keys: Array.from({ length: 500 }, (_, index) => ({ ...key, kid: `k${index}` })) }));
  expect((await fetchKeySet({ url })).size).toBe(32);
});

test('a private key that was published by mistake is taken for its public part', async () => {
  const pair = generateKeyPairSync('ed25519');
  const url = await serve(json({ keys: [{ ...pair.privateKey.export({ format: 'jwk' }), kid: 'oops' }] }));
  expect((await fetchKeySet({ url })).get('oops')?.key.type).toBe('public');
});

interface Row {
  reason: string;
  answer: Answer;
  says: RegExp;
  isSlow?: true;
}

const rows: Row[] = [
  {
    reason: 'it sends us elsewhere',
    answer: (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
    says: /302/,
  },
  { reason: 'it hangs', answer: () => {}, says: /abort|timeout/i, isSlow: true },
  {
    reason: 'it hangs in the middle',
    answer: (_request, response) => void response.writeHead(200).write('{"keys":'),
    says: /abort|timeout|terminated/i,
    isSlow: true,
  },
  {
    reason: 'it answers 5 MB',
    answer: (_request, response) => void response.end(' '.repeat(5_000_000)),
    says: /larger than/,
  },
  {
    reason: 'it answers without end',
    answer: (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    },
    says: /larger than/,
  },
  {
    reason: 'it answers garbage',
    answer: (_request, response) => void response.end('<html>'),
    says: /did not answer with a JSON Web Key Set/,
  },
  { reason: 'it answers a list', answer: json([key]), says: /did not answer with a JSON Web Key Set/ },
  {
    reason: 'it answers keys that are no list',
    answer: json({ keys: { one: key } }),
    says: /did not answer with a JSON Web Key Set/,
  },
  {
    reason: 'it says keys twice',
    answer: (_request, response) => void response.end('{"keys":[],"keys":[]}'),
    says: /did not answer with a JSON Web Key Set/,
  },
  {
    reason: 'it is broken',
    answer: (_request, response) => void response.writeHead(500).end(JSON.stringify({ keys: [key] })),
    says: /500/,
  },
  { reason: 'it hangs up', answer: (request) => void request.socket.destroy(), says: /closed|socket|ECONNRESET/i },
];

test.each(rows)('$reason', async ({ answer, says, isSlow }) => {
  const url = await serve(answer);
  await expect(fetchKeySet({ url }, isSlow === true ? { timeoutMilliseconds: 200 } : {})).rejects.toThrow(says);
});

test('only who is trusted is asked', async () => {
  const validity = { now: Date.now(), validMilliseconds: 600_000, backdateMilliseconds: 60_000 };
  const [authority, other] = [issueAuthority(validity), issueAuthority(validity)];
  const leaf = issueLeaf(authority, { ...validity, names: ['127.0.0.1'] });
  const server = createSecureServer({ cert: leaf.certificate, key: leaf.key }, json({ keys: [key] }));
  servers.push(server as unknown as Server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const caBundle = authority.certificate;
  expect((await fetchKeySet({ url, caBundle })).size).toBe(1);
  expect((await fetchKeySet({ url, caBundle, trustsSystem: true })).size).toBe(1);
  await expect(fetchKeySet({ url })).rejects.toThrow(/certificate/i);
  await expect(fetchKeySet({ url, caBundle: other.certificate, trustsSystem: true })).rejects.toThrow(/certificate/i);
});

test('where it sends us is not asked', async () => {
  let asked = 0;
  const target = await serve((_request, response) => {
    asked += 1;
    response.end(JSON.stringify({ keys: [key] }));
  });
  const url = await serve((_request, response) => void response.writeHead(307, { location: target }).end());
  await expect(fetchKeySet({ url })).rejects.toThrow('redirects are not followed');
  expect(asked).toBe(0);
});

test.each([
  { url: 'http://keys.company.com/jwks.json', reason: 'in the clear' },
  { url: 'http://169.254.169.254/latest/meta-data', reason: 'the metadata of a cloud' },
  { url: 'http://127.0.0.1.evil.com/', reason: 'begins like this machine' },
  { url: 'file:///etc/passwd', reason: 'a file' },
  { url: 'data:application/json,{}', reason: 'no address' },
])('$url is not fetched: $reason', async ({ url }) => {
  await expect(fetchKeySet({ url })).rejects.toThrow('over https');
});
