/**
 * An HTTPS server whose certificate is replaced while it runs: new connections get the new leaf, open ones continue. It speaks
 * HTTP/1.1 only, as API servers do to webhooks behind Services (docs/decisions/0010-webhooks-speak-http-1.md).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { CertificateSource } from '../certificates/bundle.ts';
import { portError, reachableHost } from './address.ts';
import { type AnswerPost, answerPosts, type Posts } from './posts.ts';

export interface ServeOptions {
  certificates: CertificateSource;
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  /** Called first, for requests in the one form that API servers send. */
  answerPost?: AnswerPost;
  host?: string;
  /** Default or 0: any free port. */
  port?: number;
  /** Lets several processes listen on one port; each gets a share of the connections. */
  reusePort?: boolean;
}

export interface Serving {
  readonly url: string;
  readonly port: number;
  /**
   * Finishes the requests in flight. For `drainMilliseconds` every answer closes its connection, so that clients reconnect elsewhere;
   * new connections are still accepted, unless another process listens on the same port (`reusePort`): then this one stops listening
   * at once. After another `limitMilliseconds` the remaining connections are closed.
   */
  stop(options?: { drainMilliseconds?: number; limitMilliseconds?: number }): Promise<void>;
  /** True from the call of `stop` on. */
  readonly draining: boolean;
}

/**
 * Longer than the 90 s after which the transport of an API server drops an idle connection: the side that closes first
 * never interrupts a request.
 */
const keepAliveMilliseconds = 120_000;

/** `serveHttps` serves HTTPS with the current certificate of a source, and switches to each new one for new connections. */
export async function serveHttps(options: ServeOptions): Promise<Serving> {
  const { certificates, answer, host = '127.0.0.1', port = 0, reusePort = false } = options;
  let draining = false;
  const server = createServer(
    { ...contextOf(certificates), ALPNProtocols: ['http/1.1'], keepAliveTimeout: keepAliveMilliseconds },
    (request, response) => {
      if (draining) response.setHeader('connection', 'close');
      answer(request, response);
    },
  );
  const posts = options.answerPost && postsFirst(server, options.answerPost, () => draining);
  const connections = openConnections(server);
  // A client that aborts its handshake or speaks no TLS is disconnected.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  let shown = certificates.current().certificate;
  const unsubscribe = certificates.subscribe(() => {
    const leaf = certificates.current();
    if (leaf.certificate === shown) return;
    shown = leaf.certificate;
    server.setSecureContext(contextOf(certificates));
  });

  try {
    await listen(server, { host, port, reusePort });
  } catch (error) {
    unsubscribe();
    posts?.stop();
    throw error;
  }
  const bound = (server.address() as AddressInfo).port;
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  let stopped: Promise<void> | undefined;
  return {
    url: `https://${reachableHost(host)}:${bound}`,
    port: bound,
    get draining() {
      return draining;
    },
    stop({ drainMilliseconds = 0, limitMilliseconds = 10_000 } = {}) {
      if (!draining && reusePort && drainMilliseconds > 0) stopListening(server);
      draining = true;
      stopped ??= delay(drainMilliseconds)
        .then(() => finish({ server, posts, connections, closed }, limitMilliseconds))
        .finally(() => {
          unsubscribe();
          posts?.stop();
        });
      return stopped;
    },
  };
}

/** Inserts the fast path between TLS and Node's HTTP server, which receives all other requests. */
function postsFirst(server: Server, answer: AnswerPost, draining: () => boolean): Posts {
  const [listener] = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
  if (listener === undefined) throw new Error('an HTTPS server takes no connections');
  server.removeListener('secureConnection', listener);
  const handOver = (socket: TLSSocket) => listener.call(server, socket);
  const posts = answerPosts({ answer, handOver, draining, keepAliveMilliseconds });
  server.on('secureConnection', (socket) => posts.take(socket));
  return posts;
}

function contextOf(certificates: CertificateSource) {
  const { certificate, key } = certificates.current();
  return { cert: certificate, key, minVersion: 'TLSv1.2' as const };
}

function listen(server: Server, options: { host: string; port: number; reusePort: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(portError(error, { ...options, what: 'the webhook server' })));
    server.listen(options, resolve);
  });
}

/** Unlike `server.close`, this keeps idle connections open: a request may be in flight on one. */
function stopListening(server: Server): void {
  NetServer.prototype.close.call(server);
}

/** Includes connections without a completed handshake, which Node's HTTP server does not know yet. */
function openConnections(server: Server): ReadonlySet<Duplex> {
  const open = new Set<Duplex>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}

interface Finishing {
  readonly server: Server;
  readonly posts: Posts | undefined;
  readonly connections: ReadonlySet<Duplex>;
  readonly closed: Promise<void>;
}

function finish({ server, posts, connections, closed }: Finishing, limitMilliseconds: number): Promise<void> {
  const cutOff = setTimeout(() => {
    for (const socket of connections) socket.destroy();
  }, limitMilliseconds);
  // Also ends idle connections; those with a request in flight end with their answer.
  server.close();
  posts?.endIdle();
  return closed.finally(() => clearTimeout(cutOff));
}

const delay = (milliseconds: number): Promise<void> =>
  milliseconds === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, milliseconds));
