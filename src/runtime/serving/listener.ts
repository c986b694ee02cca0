/** The socket of a server: bounded in connections, time and headers, with a certificate that is replaced while it runs. */
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { CertificateSource } from '../certificates/index.ts';

export interface ListenerLimits {
  /** The time limits for sending the headers and the whole request; after them the connection is closed. */
  readonly headersMilliseconds: number;
  readonly requestMilliseconds: number;
  readonly keepAliveMilliseconds: number;
  readonly connections: number;
}

export const defaultLimits: ListenerLimits = {
  headersMilliseconds: 10_000,
  requestMilliseconds: 30_000,
  keepAliveMilliseconds: 60_000,
  connections: 2000,
};

export type ServingCertificate = Pick<CertificateSource, 'current' | 'subscribe'>;

export interface Listener {
  readonly server: Server;
  /** Closes all remaining connections, including those without a request yet. */
  cutOff(): void;
  /** Stops following the certificate. */
  end(): void;
}

export function makeListener(
  answer: RequestListener,
  tls: ServingCertificate | undefined,
  limits: ListenerLimits,
): Listener {
  const options: ServerOptions = {
    headersTimeout: limits.headersMilliseconds,
    requestTimeout: limits.requestMilliseconds,
    keepAliveTimeout: limits.keepAliveMilliseconds,
    connectionsCheckingInterval: Math.min(1000, limits.headersMilliseconds),
    maxHeaderSize: 32 * 1024,
    insecureHTTPParser: false,
  };
  const { server, end } =
    tls === undefined ? { server: createServer(options, answer), end() {} } : secure(answer, tls, options);
  server.maxConnections = limits.connections;
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return {
    server,
    end,
    cutOff() {
      for (const socket of open) socket.destroy();
    },
  };
}

function secure(answer: RequestListener, tls: ServingCertificate, options: ServerOptions) {
  const context = () => {
    const { certificate, key } = tls.current();
    return { cert: certificate, key, minVersion: 'TLSv1.2' as const };
  };
  const server = createSecureServer(
    { ...options, ...context(), ALPNProtocols: ['http/1.1'], handshakeTimeout: options.headersTimeout },
    answer,
  );
  // A client that aborts its handshake or speaks no TLS is simply disconnected.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  const end = tls.subscribe(() => server.setSecureContext(context()));
  // An HTTPS server has the same interface for its users here.
  return { server: server as unknown as Server, end };
}
