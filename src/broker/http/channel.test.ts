/** On real sockets of this machine: what a broker may do to us, and what we make of it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { issueAuthority, issueLeaf } from '../../runtime/internal.ts';
import { FakeClock } from '../../runtime/testing/index.ts';
import type { BrokerAddress, Channel, ChannelError, ChannelFailure } from '../channel.ts';
import { requestEvent } from '../contract/index.ts';
import { httpChannel } from './channel.ts';

const event = requestEvent(
  {
    action: 'Deploy',
    deploymentId: 'u/1/0',
    broker: 'azure',
    resource: { apiVersion: 'platform.company.com/v1', kind: 'Cache', namespace: 'team', name: 'sessions', uid: 'u' },
    target: { name: 'west', provider: 'azure' },
    spec: {},
    replyTo: {},
  },
  { cause: { correlationid: 'c-1', tracestate: 'vendor=1' } },
);
const receipt = JSON.stringify({ deploymentId: 'u/1/0', outcome: 'accepted' });

const opened: (Server | Channel)[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) {
    if (!('listen' in each)) await each.close();
    else {
      each.closeAllConnections();
      await new Promise((resolve) => each.close(resolve));
    }
  }
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(answer: Answer): Promise<string> {
  const server = createServer(answer);
  opened.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function open(options: Partial<Parameters<typeof httpChannel>[0]> = {}): Channel {
  const channel = httpChannel({ token: async () => 'the-token', ...options });
  opened.push(channel);
  return channel;
}

const broker = (endpoint: string | undefined, caBundle?: string): BrokerAddress => ({
  name: 'azure',
  channel: 'Both',
  ...(endpoint === undefined ? {} : { endpoint }),
  ...(caBundle === undefined ? {} : { caBundle }),
  kafka: { requestTopic: 'deployment-requests', statusTopic: 'deployment-status' },
});

const failureOf = (sent: Promise<void>): Promise<ChannelFailure | 'sent'> =>
  sent.then(
    () => 'sent',
    (error: ChannelError) => error.failure,
  );

test('what a broker is sent', async () => {
  let seen: unknown;
  const url = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { authorization, traceparent, tracestate, 'idempotency-key': key, 'content-type': type } = request.headers;
    seen = {
      url: request.url,
      method: request.method,
      authorization,
      traceparent,
      tracestate,
      key,
      type,
      body: JSON.parse(Buffer.concat(chunks).toString()),
    };
    response.writeHead(202).end(receipt);
  });
  await open().send(event, broker(`${url}/behind/`));
  expect(seen).toEqual({
    url: '/behind/v1/deployments',
    method: 'POST',
    authorization: 'Bearer the-token',
    traceparent: event.traceparent,
    tracestate: 'vendor=1',
    key: 'u/1/0/Deploy',
    type: 'application/cloudevents+json',
    body: event,
  });
});

interface Row {
  reason: string;
  answer: Answer;
  failure: ChannelFailure;
}

const rows: Row[] = [
  { reason: 'it never answers', answer: () => {}, failure: 'timeout' },
  {
    reason: 'it answers, byte by byte, without end',
    answer: (_request, response) => {
      response.writeHead(202);
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    },
    failure: 'timeout',
  },
  {
    reason: 'it answers with megabytes',
    answer: (_request, response) => response.writeHead(202).end(' '.repeat(5_000_000)),
    failure: 'unavailable',
  },
  {
    reason: 'it sends us elsewhere',
    answer: (_request, response) => response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
    failure: 'refused',
  },
  { reason: 'it hangs up', answer: (request) => request.socket.destroy(), failure: 'unavailable' },
  {
    reason: 'it speaks no HTTP',
    answer: (request) => request.socket.end('SSH-2.0-OpenSSH\r\n'),
    failure: 'unavailable',
  },
  { reason: 'it is overloaded', answer: (_request, response) => response.writeHead(429).end(), failure: 'throttled' },
];

test.each(rows)('$reason: $failure', async ({ answer, failure }) => {
  expect(
    await failureOf(
      open(failure === 'timeout' ? { timeoutMilliseconds: 300 } : {}).send(event, broker(await serve(answer))),
    ),
  ).toBe(failure);
});

test('nobody listens', async () => {
  const url = await serve(() => {});
  await new Promise((resolve) => (opened[0] as Server).close(resolve));
  expect(await failureOf(open().send(event, broker(url)))).toBe('unavailable');
});

test.each([
  { endpoint: undefined, reason: 'there is no address' },
  { endpoint: 'http://broker.company.com', reason: 'a token would be sent in the clear' },
  { endpoint: 'ftp://broker.company.com', reason: 'not of the web' },
])('$endpoint is refused: $reason', async ({ endpoint }) => {
  expect(await failureOf(open().send(event, broker(endpoint)))).toBe('refused');
});

test('a connection that was closed in the meantime costs nothing', async () => {
  let connections = 0;
  const url = await serve((request, response) => {
    connections += 1;
    if (connections === 1) request.socket.destroy();
    else response.writeHead(202).end(receipt);
  });
  await open().send(event, broker(url));
  expect(connections).toBe(2);
});

test('who gives up hears why they did', async () => {
  const abort = new AbortController();
  const url = await serve(() => abort.abort(new Error('stopping')));
  await expect(open().send(event, broker(url), { signal: abort.signal })).rejects.toThrow('stopping');
});

test('after a failure it counts as away for a while, for as long as it asks, and until it answers', async () => {
  const clock = new FakeClock();
  let status = 500;
  let retryAfter: string | undefined;
  const url = await serve((_request, response) => {
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
    response.writeHead(status).end(receipt);
  });
  const channel = open({ clock });
  const to = broker(url);
  const available = async (after: number) => {
    await clock.advance(after);
    return channel.available(to);
  };
  expect(await available(0)).toBe(true);
  await failureOf(channel.send(event, to));
  expect([await available(0), await available(1000)]).toEqual([false, true]);
  await failureOf(channel.send(event, to));
  expect([await available(1000), await available(1000)]).toEqual([false, true]);
  [status, retryAfter] = [429, '60'];
  await failureOf(channel.send(event, to));
  expect([await available(59_000), await available(1000)]).toEqual([false, true]);
  [status, retryAfter] = [403, undefined];
  await failureOf(channel.send(event, to));
  expect(await available(0)).toBe(true);
  status = 202;
  await channel.send(event, to);
  expect(await available(0)).toBe(true);
  expect(channel.available({ ...to, channel: 'Kafka' })).toBe(false);
  expect(channel.available(broker(undefined))).toBe(false);
});

test('only who is trusted by the Broker object is spoken to', async () => {
  const validity = { now: Date.now(), validMilliseconds: 600_000, backdateMilliseconds: 60_000 };
  const authority = issueAuthority(validity);
  const other = issueAuthority(validity);
  const leaf = issueLeaf(authority, { ...validity, names: ['127.0.0.1'] });
  const server = createSecureServer({ cert: leaf.certificate, key: leaf.key }, (_request, response) => {
    response.writeHead(202).end(receipt);
  });
  opened.push(server as unknown as Server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const channel = open();
  expect(await failureOf(channel.send(event, broker(url, authority.certificate)))).toBe('sent');
  expect(await failureOf(channel.send(event, broker(url, other.certificate)))).toBe('unavailable');
  expect(await failureOf(channel.send(event, broker(url)))).toBe('unavailable');
});
