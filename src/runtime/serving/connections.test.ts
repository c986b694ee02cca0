import { connect as connectTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect } from 'node:tls';
import { afterEach, describe, expect, it, test } from 'vitest';
import { issueAuthority, issueLeaf } from '../certificates/issue.ts';
import { eventually } from '../testing/index.ts';
import { type ServeOptions, type Serving, serveHttps } from './https.ts';
import { networkOf, Shares } from './shares.ts';

const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };
const authority = issueAuthority(validity);
const leaf = issueLeaf(authority, { ...validity, names: ['localhost'] });
const { certificate: cert, key } = issueLeaf(authority, { ...validity, client: { commonName: 'kube-apiserver' } });

const open: { stop(): unknown }[] = [];
const soon = { within: 10_000 };
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop();
});

async function serve(over: Partial<ServeOptions> = {}): Promise<Serving> {
  const serving = await serveHttps({
    certificates: {
      current: () => leaf,
      bundle: () => ({ pem: authority.certificate, generation: 1 }),
      subscribe: () => () => {},
    },
    clients: { current: () => ({ ca: authority.certificate }), subscribe: () => () => {} },
    answer: (request, response) => response.end(request.url),
    ...over,
  });
  open.push({ stop: () => serving.stop({ limitMilliseconds: 200 }) });
  return serving;
}

interface Client {
  readonly socket: Socket;
  readonly received: () => string;
  readonly isClosed: () => boolean;
}

function follow(socket: Socket): Client {
  let received = '';
  let closed = false;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
  });
  open.push({ stop: () => socket.destroy() });
  return { socket, received: () => received, isClosed: () => closed };
}

/** A connection whose handshake is complete. */
async function secured({ port }: Serving, over: ConnectionOptions = {}): Promise<Client> {
  const client = follow(
    connect({ host: '127.0.0.1', port, servername: 'localhost', ca: authority.certificate, ...over }),
  );
  await new Promise<void>((resolve) => client.socket.once('secureConnect', resolve));
  return client;
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

async function used(serving: Serving, over: ConnectionOptions = {}): Promise<Client> {
  const client = await secured(serving, over);
  client.socket.write(get('/used'));
  await eventually(() => expect(client.received()).toContain('/used'), soon);
  return client;
}

/** The first message of a TLS client. */
const hello: Buffer = await new Promise((resolve) => {
  const wire = new Duplex({ read() {}, write: (chunk: Buffer) => resolve(chunk) });
  connect({ socket: wire as Socket, servername: 'localhost' }).on('error', () => {});
});

/** A connection that sends this much of its first message, and stops. */
async function stalled({ port }: Serving, bytes: number): Promise<Client> {
  const client = follow(connectTcp({ host: '127.0.0.1', port }));
  await new Promise<void>((resolve) => client.socket.once('connect', resolve));
  client.socket.write(hello.subarray(0, bytes));
  // Handshakes that wait at the same time start in no particular order.
  if (bytes === hello.length) await eventually(() => expect(client.received()).not.toBe(''), soon);
  return client;
}

describe('connections in a handshake', () => {
  test.each([
    { reason: 'before the first message is complete', bytes: 100 },
    { reason: 'after it', bytes: hello.length },
  ])('are not closed for connections without a certificate: $reason', async ({ bytes }) => {
    const serving = await serve({ connections: { total: 3, perAddress: 3 } });
    const old = [await used(serving), await used(serving), await used(serving)];
    const waiting = await stalled(serving, bytes);
    for (let count = 0; count < 5; count += 1) await used(serving);
    expect(waiting.isClosed()).toBe(false);
    expect(old.map(({ isClosed }) => isClosed())).toEqual([true, true, true]);
    const authenticated = await used(serving, { cert, key });
    for (let count = 0; count < 5; count += 1) await used(serving);
    expect(authenticated.isClosed()).toBe(false);
  });

  test.each([
    { reason: 'nothing is sent', bytes: 0 },
    { reason: 'the first message is not complete', bytes: 100 },
    { reason: 'the answer to the first message is ignored', bytes: hello.length },
  ])('displace only the oldest of those that stall alike: $reason', async ({ bytes }) => {
    const serving = await serve({ connections: { handshakes: 3 } });
    const attackers: Client[] = [];
    for (let count = 0; count < 6; count += 1) attackers.push(await stalled(serving, bytes));
    await eventually(
      () => expect(attackers.map(({ isClosed }) => isClosed())).toEqual([true, true, true, false, false, false]),
      soon,
    );
    expect((await used(serving, { cert, key })).isClosed()).toBe(false);
  });
});

it('closes the connection whose last request is the oldest, and none with a request in flight', async () => {
  let release = () => {};
  const serving = await serve({
    connections: { total: 2, perAddress: 2 },
    answer(request, response) {
      if (request.url === '/slow') release = () => response.end('released');
      else response.end(request.url);
    },
  });
  const busy = await secured(serving);
  busy.socket.write(get('/slow'));
  const idle = await used(serving);
  const newest = await used(serving);
  expect([busy, idle, newest].map(({ isClosed }) => isClosed())).toEqual([false, true, false]);
  release();
  await eventually(() => expect(busy.received()).toContain('released'), soon);
});

it('answers what a client has sent at once a little at a time', async () => {
  const [clients, requests] = [10, 2_000];
  let handled = 0;
  let most = 0;
  const serving = await serve({
    answer(_request, response) {
      if (handled === 0) {
        setImmediate(() => {
          most = Math.max(most, handled);
          handled = 0;
        });
      }
      handled += 1;
      response.end('answered');
    },
  });
  const greedy = await Promise.all(Array.from({ length: clients }, () => secured(serving)));
  for (const { socket } of greedy) socket.write(get('/').repeat(requests));
  await eventually(
    () =>
      expect(greedy.map(({ received }) => received().split('answered').length - 1)).toEqual(greedy.map(() => requests)),
    { within: 60_000 },
  );
  expect(most).toBeLessThan((clients * requests) / 4);
});

describe('shares', () => {
  const items = (address: string, ...names: string[]) => names.map((name) => ({ address, name }));
  const filled = () => {
    const shares = new Shares<{ address: string; name: string }>();
    for (const item of [...items('one', 'a', 'b', 'c'), ...items('two', 'd')]) shares.add(item);
    return shares;
  };
  const taken = (shares: ReturnType<typeof filled>, which: 'oldest' | 'newest') =>
    Array.from({ length: shares.size }, () => shares.take(which)?.name).join('');

  it('are taken from one address after the other', () => {
    expect(taken(filled(), 'oldest')).toBe('adbc');
    expect(taken(filled(), 'newest')).toBe('cdba');
    expect(filled().size).toBe(4);
  });

  it('know the address that has the most', () => {
    const shares = filled();
    expect([...shares.ofLargest()].map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    for (const item of shares.of('one')) shares.delete(item);
    expect([...shares.ofLargest()].map(({ name }) => name)).toEqual(['d']);
    expect(shares.countOf('one')).toBe(0);
  });
});

test.each([
  { address: '10.0.0.1', expected: '10.0.0.1', reason: 'an IPv4 host' },
  { address: '::ffff:10.0.0.1', expected: '::ffff:10.0.0.1', reason: 'the same in IPv6' },
  { address: '2001:db8:1:2:3:4:5:6', expected: '2001:db8:1:2', reason: 'a host has all addresses of its /64' },
  { address: '2001:db8::6', expected: '2001:db8:0:0', reason: 'zeros left out' },
  { address: '::1', expected: '0:0:0:0', reason: 'zeros at the beginning' },
])('$address is counted as $expected: $reason', ({ address, expected }) => {
  expect(networkOf(address)).toBe(expected);
});
