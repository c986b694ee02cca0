/** Connection settings that all Kafka clients share. */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { BaseOptions, Connection } from '@platformatic/kafka';
import type { Logger } from '../../runtime/index.ts';
import type { AddressGuard } from '../../runtime/internal.ts';

/** TLS material as PEM. */
export interface KafkaTls {
  /** The trusted certificate authorities; more than one during a rotation. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Loads the client on first use: that takes most of a second of CPU time, and most commands never need it. */
export const loadClient = () => import('@platformatic/kafka');

export interface KafkaConnection {
  readonly bootstrapServers: readonly string[];
  /**
   * Called for each new connection, so that certificates rotate without a restart. Without it, connections are not
   * encrypted.
   */
  readonly tls?: (() => KafkaTls) | undefined;
  /** The client id, shown in the logs of the cluster. */
  readonly clientId: string;
  readonly log: Logger;
  /** The guard of connections. Without it the servers must be the administrator's own. */
  readonly guard?: AddressGuard | undefined;
}

/**
 * The options that all clients share. A failed attempt is retried a few times in quick succession; further retries are
 * up to the caller.
 */
export function clientOptions(connection: KafkaConnection): BaseOptions {
  const { bootstrapServers, tls, clientId, log } = connection;
  return {
    clientId,
    bootstrapBrokers: [...bootstrapServers],
    connectTimeout: 5_000,
    retries: 4,
    retryDelay: (_client, _operation, attempt) => Math.min(100 * 2 ** (attempt - 1), 1_000),
    ...(tls === undefined ? {} : { tls: rotatingTls(tls, log) }),
  };
}

/**
 * TLS options that rotate. The client copies these options for each connection, which calls the getter. Certificate and
 * key are read together as one context: read separately, they might not match. If the new ones cannot be read or used,
 * the last valid ones are.
 */
function rotatingTls(read: () => KafkaTls, log: Logger): { readonly secureContext: SecureContext } {
  const contextFor = ({ ca, cert, key }: KafkaTls) => createSecureContext({ ca, cert, key, minVersion: 'TLSv1.2' });
  let pair = read();
  let context = contextFor(pair);
  return {
    get secureContext() {
      try {
        const next = read();
        if (next.cert !== pair.cert || next.key !== pair.key || next.ca !== pair.ca) {
          context = contextFor(next);
          pair = next;
        }
      } catch (error) {
        log.error('cannot use the new Kafka certificate; keeping the last valid one', { error });
      }
      return context;
    },
  };
}

interface Closable {
  readonly connections: Iterable<readonly [string, Connection]>;
  close(): Promise<void>;
}

/** Closes a client, even if its peer no longer answers. */
export async function closeClient(client: Closable): Promise<void> {
  const cut = disconnector(client);
  const closed = client.close().catch(() => undefined);
  cut();
  await closed;
}

/** Returns a function that closes the client's current connections; closing the client makes it forget them. */
export function disconnector({ connections }: Pick<Closable, 'connections'>): () => void {
  const sockets = [...connections].map(([, { socket }]) => socket);
  return () => {
    for (const socket of sockets) socket?.destroy();
  };
}
