/**
 * Guards the connections of a Kafka client. The author of a Broker names the bootstrap servers, and those servers name further ones:
 * each connection is checked, and without TLS it goes to the address that was checked. What is fetched over it is bounded.
 */
import { isIP } from 'node:net';
import type { Connection, Reader } from '@platformatic/kafka';
import type { AddressGuard } from '../../runtime/internal.ts';
import { boundBatches, boundCodecs, type Codecs, responseBudget } from './batches.ts';
import type { loadClient } from './connection.ts';

interface Connecting {
  readonly connection: Connection;
}

interface GuardedPool {
  on(event: 'connecting', listener: (connecting: Connecting) => void): unknown;
}

/** The description of the symbol under which the client library creates pools. */
const poolCreation = 'plt.kafka.base.createConnectionPool';

type Done = (error?: Error | null) => void;
type Connect = (host: string, port: number, done: Done) => unknown;

/** The client library, which is loaded on first use. */
type Library = Awaited<ReturnType<typeof loadClient>>;
type Parse = (correlationId: number, apiKey: number, apiVersion: number, reader: Reader) => unknown;
type Send = (apiKey: number, apiVersion: number, payload: unknown, parse: Parse, ...others: unknown[]) => unknown;

interface GuardOptions {
  /** Without it every address is allowed. */
  readonly guard?: AddressGuard | undefined;
  readonly tls?: unknown;
}

/** `guardClient` returns the client. */
export function guardClient<Client extends { readonly connections: unknown }>(
  client: Client,
  options: GuardOptions,
  library: Library,
): Client {
  boundCodecs(library.compressionsAlgorithms as unknown as Codecs);
  guardPool(client.connections as GuardedPool, options, library);
  // Each stream of a consumer has a pool of its own.
  for (let holder = client as object | null; holder !== null; holder = Object.getPrototypeOf(holder) as object | null) {
    const creates = Object.getOwnPropertySymbols(holder).find(({ description }) => description === poolCreation);
    if (creates === undefined) continue;
    const create = (client as Record<symbol, (context?: unknown) => GuardedPool>)[creates]?.bind(client);
    Object.defineProperty(client, creates, {
      value: (context?: unknown) => {
        const pool = create?.(context);
        if (pool !== undefined) guardPool(pool, options, library);
        return pool;
      },
    });
    break;
  }
  return client;
}

function guardPool(pool: GuardedPool, options: GuardOptions, library: Library): void {
  pool.on('connecting', ({ connection }) => {
    guardConnect(connection, options, library);
    boundFetches(connection, library);
  });
}

function guardConnect(connection: Connection, { guard, tls }: GuardOptions, { NetworkError }: Library): void {
  if (guard === undefined) return;
  const open = connection.connect.bind(connection) as Connect;
  const guarded: Connect = (host, port, done) => {
    resolveAllowed(guard, host, port).then(
      // With TLS the name is needed for the certificate, which fails for another server.
      (address) => open(tls === undefined ? address : host, port, done),
      (cause: Error) => {
        const error = new NetworkError(cause.message, { canRetry: false, cause });
        connection.emit('error', error);
        done(error);
      },
    );
  };
  connection.connect = guarded as Connection['connect'];
}

const fetchKey = 1;

/** Bounds the batches of each response to a fetch before the client parses them. */
function boundFetches(connection: Connection, { compressionsAlgorithms, Reader }: Library): void {
  const codecs = compressionsAlgorithms as unknown as Codecs;
  const send = connection.send.bind(connection) as unknown as Send;
  const bounded: Send = (apiKey, apiVersion, payload, parse, ...others) => {
    const parseBounded: Parse = (correlationId, key, version, reader) => {
      const budget = responseBudget();
      const { buffer } = reader;
      const take = buffer.subarray.bind(buffer);
      // The parser takes the batches of each partition out of the response with this method, and nothing else.
      buffer.subarray = (start, end) => Reader.from(boundBatches(take(start, end).buffer, codecs, budget)).buffer;
      return parse(correlationId, key, version, reader);
    };
    return send(apiKey, apiVersion, payload, apiKey === fetchKey ? parseBounded : parse, ...others);
  };
  connection.send = bounded as unknown as Connection['send'];
}

/** Resolves to an IP address that the guard allows. */
async function resolveAllowed(guard: AddressGuard, host: string, port: number): Promise<string> {
  guard.demand(host, port);
  if (isIP(host) !== 0) return host;
  return new Promise((done, fail) =>
    guard.lookup(port)(host, {}, (error, address) => (error === null ? done(String(address)) : fail(error))),
  );
}
