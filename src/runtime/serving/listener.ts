/** The socket of a server of ours: bounded in connections, time and headers, with a certificate that turns while it runs. */
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { CertificateSource } from '../certificates/index.ts';

export interface ListenerLimits {
  /** Whoever takes longer to send the headers, or the whole request, is cut off. */
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
  /** Cuts off whoever is left, those too that have not yet said a word. */
  cutOff(): void;
  /** No longer follows the certificate. */
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
  // Who breaks off a handshake or speaks no TLS is their own problem.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  const end = tls.subscribe(() => server.setSecureContext(context()));
  // The same to all who use it here: a server of HTTP that happens to be encrypted.
  return { server: server as unknown as Server, end };
}
