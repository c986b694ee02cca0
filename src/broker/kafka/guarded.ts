/**
 * Guards the connections of a Kafka client. The author of a Broker names the bootstrap servers, and those servers name further ones:
 * each connection is checked, and without TLS it goes to the address that was checked.
 */
import { isIP } from 'node:net';
import type { Connection, NetworkError } from '@platformatic/kafka';
import type { AddressGuard } from '../../runtime/internal.ts';

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

/** `guardClient` returns the client. It does nothing without a guard. */
export function guardClient<Client extends { readonly connections: unknown }>(
  client: Client,
  options: { readonly guard?: AddressGuard | undefined; readonly tls?: unknown },
  Failure: typeof NetworkError,
): Client {
  const { guard } = options;
  if (guard === undefined) return client;
  guardPool(client.connections as GuardedPool, { guard, tls: options.tls }, Failure);
  // Each stream of a consumer has a pool of its own.
  for (let holder = client as object | null; holder !== null; holder = Object.getPrototypeOf(holder) as object | null) {
    const creates = Object.getOwnPropertySymbols(holder).find(({ description }) => description === poolCreation);
    if (creates === undefined) continue;
    const create = (client as Record<symbol, (context?: unknown) => GuardedPool>)[creates]?.bind(client);
    Object.defineProperty(client, creates, {
      value: (context?: unknown) => {
        const pool = create?.(context);
        if (pool !== undefined) guardPool(pool, { guard, tls: options.tls }, Failure);
        return pool;
      },
    });
    break;
  }
  return client;
}

function guardPool(
  pool: GuardedPool,
  { guard, tls }: { readonly guard: AddressGuard; readonly tls: unknown },
  Failure: typeof NetworkError,
): void {
  pool.on('connecting', ({ connection }) => {
    const open = connection.connect.bind(connection) as Connect;
    const guarded: Connect = (host, port, done) => {
      resolveAllowed(guard, host, port).then(
        // With TLS the name is needed for the certificate, which fails for another server.
        (address) => open(tls === undefined ? address : host, port, done),
        (cause: Error) => {
          const error = new Failure(cause.message, { canRetry: false, cause });
          connection.emit('error', error);
          done(error);
        },
      );
    };
    connection.connect = guarded as Connection['connect'];
  });
}

/** Resolves to an IP address that the guard allows. */
async function resolveAllowed(guard: AddressGuard, host: string, port: number): Promise<string> {
  guard.demand(host, port);
  if (isIP(host) !== 0) return host;
  return new Promise((done, fail) =>
    guard.lookup(port)(host, {}, (error, address) => (error === null ? done(String(address)) : fail(error))),
  );
}
