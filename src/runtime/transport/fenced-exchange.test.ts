/**
 * Servers and proxies that misbehave, unlike the real API server, over both implementations of `HoldingDispatcher`.
 * Tests with the real one: test/runtime/leader.test.ts.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Fence } from '../client/client.ts';
import { ConnectionError, FenceError } from '../errors.ts';
import type { Credentials } from './credentials.ts';
import { type Exchange, Interrupted, Lost } from './exchange.ts';
import { fencedExchange } from './fenced-exchange.ts';
import { ProxiedHolding } from './proxied-holding.ts';
import { type HoldingDispatcher, Pool } from './wire/index.ts';

const servers: Server[] = [];
const credentials: Credentials = {
  authorization: undefined,
  secureContext: undefined,
  tlsIdentity: '',
  clientCertificate: undefined,
};
const fence = (remaining: number): Fence => ({
  remainingMilliseconds: () => remaining,
  signal: new AbortController().signal,
});

afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

const kinds: { over: string; open: (origin: string) => HoldingDispatcher }[] = [
  {
    over: 'our own connections',
    open: (origin) =>
      new Pool({
        host: new URL(origin).host,
        connections: 1,
        connectMilliseconds: 20_000,
        idleMilliseconds: 50_000,
        open: ({ onread }) => connect({ host: '127.0.0.1', port: Number(new URL(origin).port), onread }),
      }),
  },
  {
    over: 'those through a proxy',
    open: (origin) => new ProxiedHolding({ server: origin, source: 'test' } as never, credentials, 1),
  },
];

type Tail<F extends (...parameters: never[]) => unknown> =
  Parameters<F> extends [unknown, ...infer Rest] ? Rest : never;

/** `onHeaders` decides how the server treats a request before it asks for the body. */
async function exchangeWith(
  open: (origin: string) => HoldingDispatcher,
  onHeaders: (request: IncomingMessage, response: ServerResponse, answer: () => void) => void,
  given: { fence: Fence; signal?: AbortSignal; headers?: string[] },
) {
  const bodies: string[] = [];
  const urls: string[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      bodies.push(body);
      response.end('{"ok":true}');
    });
  };
  const server = createServer(answer).on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    urls.push(request.url ?? '');
    onHeaders(request, response, () => {
      response.writeContinue();
      answer(request, response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const dispatcher = open(origin);
  const request: Exchange = {
    origin,
    method: 'POST',
    path: '/things?dryRun=All',
    headers: given.headers ?? [],
    body: '{"a":1}',
    signal: given.signal,
    maximumResponseBytes: 100,
  };
  const outcome = await fencedExchange(dispatcher, request, performance.now() + 5_000, given.fence).catch(
    (error: unknown) => error,
  );
  await dispatcher.destroy();
  server.close();
  return { outcome, bodies, urls };
}

describe.each(kinds)('a fenced write over $over', ({ open }) => {
  const against = (...[onHeaders, given]: Tail<typeof exchangeWith>) => exchangeWith(open, onHeaders, given);

  it('sends the remaining time with the headers, and the body once they are acknowledged', async () => {
    const { outcome, bodies, urls } = await against((_request, _response, answer) => answer(), {
      fence: fence(10_000),
    });
    expect(outcome).toMatchObject({ status: 200, body: Buffer.from('{"ok":true}') });
    expect(bodies).toEqual(['{"a":1}']);
    expect(urls).toEqual(['/things?dryRun=All&timeout=6000ms']);
  });

  it('sends repeated headers', async () => {
    let groups: string[] | undefined;
    await against(
      (request, _response, answer) => {
        groups = request.headersDistinct['impersonate-group'];
        answer();
      },
      { fence: fence(10_000), headers: ['impersonate-group', 'a', 'impersonate-group', 'b'] },
    );
    expect(groups).toEqual(['a', 'b']);
  });

  it('sends nothing if the fence has already ended', async () => {
    const { outcome, urls } = await against((_request, _response, answer) => answer(), { fence: fence(0) });
    expect(outcome).toBeInstanceOf(FenceError);
    expect(urls).toEqual([]);
  });

  it('sends no body if the headers are not acknowledged, and names the possible cause', async () => {
    const { outcome, bodies } = await against(() => {}, { fence: fence(200) });
    expect(outcome).toBeInstanceOf(ConnectionError);
    expect(outcome).toMatchObject({ code: 'connection/timeout', hint: expect.stringContaining('Expect') });
    expect(bodies).toEqual([]);
  });

  it('accepts an answer instead of the acknowledgement', async () => {
    const { outcome, bodies } = await against((_request, response) => response.writeHead(403).end('no'), {
      fence: fence(10_000),
    });
    expect(outcome).toMatchObject({ status: 403, body: Buffer.from('no') });
    expect(bodies).toEqual([]);
  });

  it('reports that nothing was sent if the connection breaks before the acknowledgement', async () => {
    const { outcome } = await against((request) => request.socket.destroy(), { fence: fence(10_000) });
    expect(outcome).toBeInstanceOf(Lost);
    expect(outcome).toMatchObject({ sent: false, answered: false });
  });

  it('reports that the write may have happened if the connection breaks after the body', async () => {
    const { outcome } = await against(
      (request, response) => {
        response.writeContinue();
        request.on('end', () => request.socket.destroy()).resume();
      },
      { fence: fence(10_000) },
    );
    expect(outcome).toBeInstanceOf(Lost);
    expect(outcome).toMatchObject({ sent: true });
  });

  it('ends with its signal', async () => {
    const abort = new AbortController();
    const { outcome } = await against(() => abort.abort(), { fence: fence(10_000), signal: abort.signal });
    expect(outcome).toBeInstanceOf(Interrupted);
  });

  it('limits the size of an answer', async () => {
    const { outcome } = await against((_request, response) => response.end('x'.repeat(1000)), { fence: fence(10_000) });
    expect(outcome).toBeInstanceOf(Lost);
  });
});
