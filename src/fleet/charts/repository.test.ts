import { spawnSync } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { fetchFromRepository, versionsIn, versionsInRepository } from './repository.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let other: Server;
let url: string;
let otherUrl: string;
let answer: Answer;
let asked: { readonly at: string; readonly authorization: string | undefined }[];

const listening = async (started: Server): Promise<string> => {
  await new Promise<void>((resolve) => {
    started.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
};

beforeAll(async () => {
  const noting = (at: string) => (request: IncomingMessage, response: ServerResponse) => {
    asked.push({ at: `${at}${request.url}`, authorization: request.headers.authorization });
    answer(request, response);
  };
  server = createServer(noting(''));
  other = createServer(noting('other'));
  [url, otherUrl] = [await listening(server), await listening(other)];
});
afterAll(() => {
  for (const each of [server, other]) each?.closeAllConnections();
  for (const each of [server, other]) each?.close();
});
beforeEach(() => {
  asked = [];
  answer = (_request, response) => response.writeHead(404).end();
});

const text =
  (body: string, status = 200): Answer =>
  (_request, response) =>
    response.writeHead(status).end(body);

const entry = (version: string, more: object = {}) => ({
  name: 'shop',
  version,
  urls: [`shop-${version}.tgz`],
  ...more,
});
const indexOf = (entries: object) => ({ apiVersion: 'v1', entries });
const versions = async () => (await versionsInRepository(url, 'shop', {})).map(({ version }) => version);

describe('an index', () => {
  const entries = { a: [entry('9.9.9')], shop: [entry('1.0.0'), entry('v1.1.0')], 'shop-two': [entry('8.8.8')] };

  test.each([
    { reason: 'as Helm writes it', index: stringify(indexOf(entries), { indentSeq: false }) },
    { reason: 'with lists that are indented', index: stringify(indexOf(entries)) },
    { reason: 'as JSON', index: JSON.stringify(indexOf(entries)) },
    { reason: 'with quoted names', index: stringify(indexOf(entries)).replace('  shop:', '  "shop":') },
    { reason: 'with lines that end as on Windows', index: stringify(indexOf(entries)).replaceAll('\n', '\r\n') },
    { reason: 'with more after it', index: `${stringify(indexOf(entries))}generated: "2026-01-01"\n` },
  ])('is read $reason', async ({ index }) => {
    answer = text(index);
    expect(await versions()).toEqual(['1.0.0', 'v1.1.0']);
  });

  test.each([
    { reason: 'as a whole, where it is not as Helm writes it', lead: 'entries: {shop: [], more: "', end: '"}\n' },
    { reason: 'in the block for the chart', lead: 'entries:\n  shop:\n  - version: 1.0.0\n    home: "', end: '"\n' },
  ])('is not parsed if it is too large $reason', async ({ lead, end }) => {
    answer = text(`${lead}${'a'.repeat(4 * 1024 * 1024)}${end}`);
    await expect(versions()).rejects.toMatchObject({
      code: 'chart/invalid',
      message: expect.stringMatching(/is too large$/),
    });
  });

  test('may be large in the blocks for other charts', async () => {
    answer = text(`${stringify(indexOf(entries))}  zoo:\n  - home: "${'a'.repeat(4 * 1024 * 1024)}"\n`);
    expect(await versions()).toEqual(['1.0.0', 'v1.1.0']);
  });

  test.each([
    {
      reason: 'of another chart',
      lead: 'entries:\n  other:\n',
      chunk: '    home: x\n'.repeat(6_000),
      count: 300,
      most: 70,
    },
    {
      reason: 'of the chart',
      lead: 'entries:\n  shop:\n',
      chunk: `  - version: 1.0.0\n    urls: [a.tgz]\n    home: ${'x'.repeat(60_000)}\n`,
      count: 60,
      most: 5,
    },
  ])('is not kept in memory: lines $reason', async ({ lead, chunk, count, most }) => {
    const arrived: WeakRef<Buffer>[] = [];
    let alive = 0;
    async function* chunks() {
      yield Buffer.from(lead);
      for (let sent = 0; sent < count; sent += 1) {
        const bytes = Buffer.from(chunk);
        arrived.push(new WeakRef(bytes));
        yield bytes;
        await new Promise((resolve) => setImmediate(resolve));
        if (sent % 50 !== 49) continue;
        collectGarbage();
        alive = Math.max(alive, arrived.filter((each) => each.deref() !== undefined).length);
      }
      yield Buffer.from('  shop:\n  - version: 2.0.0\n    urls: [b.tgz]\n');
    }
    await versionsIn(chunks(), 'shop', new URL('https://charts.example.com/'));
    // The beginning, up to 4 MiB, is kept until the chart is found: an index in another form is parsed as a whole.
    expect(alive).toBeLessThan(most);
  });

  test('of a chart with many versions is parsed in little memory', async () => {
    // Parsed at once, this takes 350 MB.
    const script = `
      import { versionsIn } from ${JSON.stringify(join(import.meta.dirname, 'repository.ts'))};
      function* chunks() {
        yield Buffer.from('entries:\\n  shop:\\n');
        for (let n = 0; n < 2_500; n += 1)
          yield Buffer.from('  - version: 1.0.' + n + '\\n    urls: [a.tgz]\\n    annotations:\\n' + '      key: value of it\\n'.repeat(40).replaceAll('key', () => 'k' + Math.random()));
      }
      console.log((await versionsIn(chunks(), 'shop', new URL('https://charts.example.com/'))).length);`;
    const flags = ['--max-old-space-size=64', '--input-type=module', '--eval', script];
    const { stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({ stdout: '2500\n', stderr: '' });
  });

  test('entries without a version or a valid address are skipped', async () => {
    const bad = [
      entry('latest'),
      entry('1.0.0', { urls: [] }),
      entry('1.1.0', { urls: ['file:///etc/passwd'] }),
      entry('1.2.0'),
      null,
    ];
    answer = text(stringify(indexOf({ shop: bad })));
    expect(await versions()).toEqual(['1.2.0']);
  });

  test.each([
    'https://127.0.0.1:6443/a.tgz',
    'https://localhost/a.tgz',
    'https://[::1]/a.tgz',
    'http://127.0.0.1/a.tgz',
  ])('of a remote repository must not point to loopback: %s', async (address) => {
    const index = stringify(indexOf({ shop: [entry('1.0.0'), entry('1.1.0', { urls: [address] })] }));
    const from = async (base: string) =>
      (await versionsIn([Buffer.from(index)], 'shop', new URL(base))).map(({ version }) => version);
    expect(await from('https://charts.example.com/')).toEqual(['1.0.0']);
    expect(await from('http://127.0.0.1:8080/')).toEqual(['1.0.0', '1.1.0']);
  });

  test('digests and addresses are normalized', async () => {
    const digest = 'a'.repeat(64);
    const far = entry('2.0.0', { urls: ['https://elsewhere.example.com/shop.tgz'], digest: `sha256:${digest}` });
    answer = text(stringify(indexOf({ shop: [entry('1.0.0', { digest, appVersion: 'v7' }), far] })));
    expect(await versionsInRepository(`${url}/charts`, 'shop', {})).toEqual([
      {
        version: '1.0.0',
        appVersion: 'v7',
        digest: `sha256:${digest}`,
        address: new URL(`${url}/charts/shop-1.0.0.tgz`),
      },
      { version: '2.0.0', digest: `sha256:${digest}`, address: new URL('https://elsewhere.example.com/shop.tgz') },
    ]);
  });
});

describe('a failing repository', () => {
  test.each<{ reason: string; answer: Answer; code: string; temporary: boolean; message: RegExp }>([
    {
      reason: 'there is no index',
      answer: text('', 404),
      code: 'chart/missing',
      temporary: false,
      message: /^http:\/\/127\.0\.0\.1:\d+\/index\.yaml does not exist$/,
    },
    {
      reason: 'no such chart',
      answer: text(stringify(indexOf({ a: [entry('1.0.0')] }))),
      code: 'chart/missing',
      temporary: false,
      message: /has no chart shop: check spec\.chart\.name$/,
    },
    {
      reason: 'a page of something else',
      answer: text('<html>hello</html>'),
      code: 'chart/unreachable',
      temporary: false,
      message: /has no valid Helm repository index$/,
    },
    {
      reason: 'it requires credentials',
      answer: text('', 401),
      code: 'chart/unreachable',
      temporary: false,
      message: /it answered 401$/,
    },
    {
      reason: 'it is out of order',
      answer: text('', 503),
      code: 'chart/unreachable',
      temporary: true,
      message: /it answered 503$/,
    },
    {
      reason: 'it closes the connection',
      answer: (request) => request.socket.destroy(),
      code: 'chart/unreachable',
      temporary: true,
      message: /cannot be fetched: /,
    },
    {
      reason: 'it redirects for ever',
      answer: (_request, response) => response.writeHead(302, { location: '/index.yaml' }).end(),
      code: 'chart/unreachable',
      temporary: false,
      message: /redirects more than 5 times$/,
    },
    {
      reason: 'it redirects to plain HTTP on the network',
      answer: (_request, response) => response.writeHead(302, { location: 'http://elsewhere.example.com/' }).end(),
      code: 'chart/unreachable',
      temporary: false,
      message: /redirects to a forbidden address$/,
    },
  ])('$reason', async ({ answer: given, code, temporary, message }) => {
    answer = given;
    await expect(versions()).rejects.toMatchObject({ code, temporary, message: expect.stringMatching(message) });
  });

  test('plain HTTP is rejected without a request', async () => {
    await expect(versionsInRepository('http://charts.example.com', 'shop', {})).rejects.toMatchObject({
      code: 'chart/unreachable',
      message: 'http://charts.example.com/index.yaml cannot be fetched: https is required',
    });
  });

  test('an abort is not reported as an unreachable repository', async () => {
    const stopping = new AbortController();
    answer = () => stopping.abort(new Error('stopped'));
    await expect(versionsInRepository(url, 'shop', { signal: stopping.signal })).rejects.toThrow('stopped');
  });
});

test('credentials are sent to the repository only', async () => {
  const credentials = { username: 'ada', password: 'opensesame' };
  const authorization = `Basic ${Buffer.from('ada:opensesame').toString('base64')}`;
  answer = (request, response) => {
    if (request.url === '/moved.tgz') response.writeHead(302, { location: `${otherUrl}/shop.tgz` }).end();
    else response.writeHead(200).end('bytes');
  };
  const at = (address: string) =>
    fetchFromRepository({ version: '1.0.0', address: new URL(address) }, url, { credentials });
  for (const address of [`${url}/shop.tgz`, `${url}/moved.tgz`, `${otherUrl}/direct.tgz`]) {
    expect((await at(address)).toString()).toBe('bytes');
  }
  expect(asked).toEqual([
    { at: '/shop.tgz', authorization },
    { at: '/moved.tgz', authorization },
    { at: 'other/shop.tgz', authorization: undefined },
    { at: 'other/direct.tgz', authorization: undefined },
  ]);
});
