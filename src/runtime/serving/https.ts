/**
 * An HTTPS server whose certificate is replaced while it runs: new connections get the new leaf, open ones continue. It speaks
 * HTTP/1.1 only, as API servers do to webhooks behind Services (docs/decisions/0010-webhooks-speak-http-1.md).
 */
import { constants } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { CertificateSource } from '../certificates/bundle.ts';
import { portError, reachableHost } from './address.ts';
import { anonymousAt, type Caller, type ClientAuthority, callerOf } from './clients.ts';
import { type ConnectionLimits, Connections, endSlowReader } from './connections.ts';
import { backlog, startHandshakes } from './handshakes.ts';
import { PacedConnection, pace } from './paced.ts';
import { type AnswerPost, answerPosts, type Posts } from './posts.ts';

export interface ServeOptions {
  certificates: CertificateSource;
  answer: (request: IncomingMessage, response: ServerResponse, caller: Caller) => void;
  /** Requests client certificates. A client without an accepted one is served too: `caller` says so. */
  clients?: ClientAuthority | undefined;
  /** Called first, for requests in the one form that API servers send. */
  answerPost?: AnswerPost;
  /** The limits of connections without an accepted certificate. */
  connections?: Partial<ConnectionLimits> | undefined;
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

/** The time limits for a handshake, for the headers of a request and for reading an answer. */
const patienceMilliseconds = 5_000;
/** The time limit for receiving a request with its body. */
const requestMilliseconds = 10_000;

/** Without a `ClientAuthority` the API server itself is unauthenticated, and needs a connection for each request in flight. */
const limitsOf = (clients: ClientAuthority | undefined): ConnectionLimits =>
  clients === undefined
    ? { total: 2000, perAddress: 1000, handshakes: 2000 }
    : { total: 1000, perAddress: 200, handshakes: 2000 };

/** `serveHttps` serves HTTPS with the current certificate of a source, and switches to each new one for new connections. */
export async function serveHttps(options: ServeOptions): Promise<Serving> {
  const { certificates, clients, answer, host = '127.0.0.1', port = 0, reusePort = false } = options;
  let draining = false;
  const callers = new WeakMap<object, Caller>();
  const callerAt = (socket: object): Caller => callers.get(socket) ?? anonymousAt('');
  const server = createServer(
    {
      ...contextOf(certificates, clients),
      ALPNProtocols: ['http/1.1'],
      keepAliveTimeout: keepAliveMilliseconds,
      handshakeTimeout: patienceMilliseconds,
      headersTimeout: patienceMilliseconds,
      requestTimeout: requestMilliseconds,
      connectionsCheckingInterval: 1_000,
      // An unverified client still gets an answer, which says what is missing.
      requestCert: clients !== undefined,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const { socket } = request;
      response.once('close', connections.used(socket));
      if (socket instanceof PacedConnection) socket.follow(request, response);
      if (draining) response.setHeader('connection', 'close');
      response.once('prefinish', () => endSlowReader(response, patienceMilliseconds));
      answer(request, response, callerAt(socket));
    },
  );
  const connections = new Connections({ ...limitsOf(clients), ...options.connections });
  startHandshakes(server, connections, patienceMilliseconds);
  const read = readerOf(server);
  const paced = pace();
  /** Gives a connection to Node's HTTP server. */
  const handOver = (socket: TLSSocket) => {
    const caller = callerAt(socket);
    if (caller.trusted) return read(socket);
    const connection = paced(socket);
    callers.set(connection, caller);
    read(connection);
  };
  const posts =
    options.answerPost &&
    answerPosts({
      answer: options.answerPost,
      handOver,
      used: (socket) => connections.used(socket),
      draining: () => draining,
      keepAliveMilliseconds,
      patienceMilliseconds,
    });
  server.on('secureConnection', (socket) => {
    const caller = callerOf(socket, clients);
    callers.set(socket, caller);
    if (caller.trusted) connections.trusted(socket);
    else connections.entered(socket, 'unused');
    // The fast path holds a whole body in memory, which a client that is refused anyway must not use.
    if (posts !== undefined && (clients === undefined || caller.trusted)) posts.take(socket, caller);
    else handOver(socket);
  });
  // A client that aborts its handshake or speaks no TLS is disconnected.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  let shown = certificates.current().certificate;
  const unsubscribeLeaf = certificates.subscribe(() => {
    const leaf = certificates.current();
    if (leaf.certificate === shown) return;
    shown = leaf.certificate;
    server.setSecureContext(contextOf(certificates, clients));
  });
  const unsubscribeClients = clients?.subscribe(() => server.setSecureContext(contextOf(certificates, clients)));
  const unsubscribe = () => {
    unsubscribeLeaf();
    unsubscribeClients?.();
  };

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
        .then(() => finish({ server, posts, connections: connections.open, closed }, limitMilliseconds))
        .finally(() => {
          unsubscribe();
          posts?.stop();
        });
      return stopped;
    },
  };
}

/** Takes the listener away that reads the requests of a connection, for connections that something else reads first. */
function readerOf(server: Server): (connection: Duplex) => void {
  const [read] = server.listeners('secureConnection');
  if (read === undefined) throw new Error('an HTTPS server takes no connections');
  server.removeAllListeners('secureConnection');
  return (connection) => read.call(server, connection);
}

function contextOf(certificates: CertificateSource, clients: ClientAuthority | undefined) {
  const { certificate, key } = certificates.current();
  const context = { cert: certificate, key, minVersion: 'TLSv1.2' as const };
  // A resumed session would skip the verification of the client.
  return clients === undefined
    ? context
    : { ...context, ca: clients.current().ca, secureOptions: constants.SSL_OP_NO_TICKET };
}

function listen(server: Server, options: { host: string; port: number; reusePort: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(portError(error, { ...options, what: 'the webhook server' })));
    server.listen({ ...options, backlog }, resolve);
  });
}

/** Unlike `server.close`, this keeps idle connections open: a request may be in flight on one. */
function stopListening(server: Server): void {
  NetServer.prototype.close.call(server);
}

interface Finishing {
  readonly server: Server;
  readonly posts: Posts | undefined;
  readonly connections: ReadonlySet<Socket>;
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
