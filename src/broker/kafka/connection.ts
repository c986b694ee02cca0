/** What every client of Kafka here has in common: where to connect, as whom, and how long to try. */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { BaseOptions, Connection } from '@platformatic/kafka';
import type { Logger } from '../../runtime/index.ts';

/** PEM. */
export interface KafkaTls {
  /** Whom to trust; more than one authority while they rotate. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Loaded when it is first needed: that takes most of a second of processor time, and most programs here never need it. */
export const loadClient = () => import('@platformatic/kafka');

export interface KafkaConnection {
  readonly bootstrapServers: readonly string[];
  /** Asked at each new connection, so that certificates rotate without a restart. Without it nothing is encrypted. */
  readonly tls?: (() => KafkaTls) | undefined;
  /** Shown in the logs of the cluster. */
  readonly clientId: string;
  readonly log: Logger;
}

/** Options of a client, without its own. A failed attempt is tried again a few times in quick succession; whoever asks decides about more. */
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
 * The client copies these options for each connection, which asks the getter. Certificate and key are taken together, as one context:
 * read one after the other they might not belong together. Where the new ones cannot be read or used, the last good ones are.
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
        log.error('certificate for Kafka cannot be used, going on with the last one', { error });
      }
      return context;
    },
  };
}

interface Closable {
  readonly connections: Iterable<readonly [string, Connection]>;
  close(): Promise<void>;
}

/** Closes a client, also one whose peer does not answer any more. */
export async function closeClient(client: Closable): Promise<void> {
  const cut = disconnector(client);
  const closed = client.close().catch(() => undefined);
  cut();
  await closed;
}

/** What breaks off the connections that it has now; closing makes it forget them. */
export function disconnector({ connections }: Pick<Closable, 'connections'>): () => void {
  const sockets = [...connections].map(([, { socket }]) => socket);
  return () => {
    for (const socket of sockets) socket?.destroy();
  };
}
