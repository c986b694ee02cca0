/** The socket of a server: bounded in connections, time and headers, with a certificate that is replaced while it runs. */
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { CertificateSource } from '../certificates/index.ts';
import { Connections, endSlowReader } from './connections.ts';
import { startHandshakes } from './handshakes.ts';
import { PacedConnection, pace } from './paced.ts';

export interface ListenerLimits {
  /** The time limits for sending the headers and the whole request; after them the connection is closed. */
  readonly headersMilliseconds: number;
  /** Also the time limit for reading an answer. */
  readonly requestMilliseconds: number;
  readonly keepAliveMilliseconds: number;
  /** The maximum number of connections, in total and per address. One more closes the least useful one. */
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** The maximum number of connections in each stage of the handshake. */
  readonly handshakes: number;
}

export const defaultLimits: ListenerLimits = {
  headersMilliseconds: 10_000,
  requestMilliseconds: 30_000,
  keepAliveMilliseconds: 60_000,
  connections: 2000,
  // A proxy before the server has one address for all its clients.
  connectionsPerAddress: 1000,
  handshakes: 2000,
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
  const bounded: RequestListener = (request, response) => {
    const { socket } = request;
    response.once('close', connections.used(socket));
    if (socket instanceof PacedConnection) socket.follow(request, response);
    response.once('prefinish', () => endSlowReader(response, limits.requestMilliseconds));
    answer(request, response);
  };
  const { server, end } =
    tls === undefined ? { server: createServer(options, bounded), end() {} } : secure(bounded, tls, options);
  const { connections: total, connectionsPerAddress: perAddress, handshakes } = limits;
  const connections = new Connections({ total, perAddress, handshakes });
  if (tls !== undefined) startHandshakes(server, connections, limits.headersMilliseconds);
  paceRequests(server, connections, tls !== undefined);
  return {
    server,
    end,
    cutOff() {
      for (const socket of connections.open) socket.destroy();
    },
  };
}

/** Puts itself in front of Node's HTTP server, which then reads paced connections. */
function paceRequests(server: Server, connections: Connections, isSecure: boolean): void {
  const event = isSecure ? 'secureConnection' : 'connection';
  const [take] = server.listeners(event);
  if (take === undefined) throw new Error('an HTTP server takes no connections');
  server.removeAllListeners(event);
  const paced = pace();
  server.on(event, (socket: Socket) => {
    if (isSecure) connections.entered(socket, 'unused');
    else connections.arrived(socket, 'unused');
    take.call(server, paced(socket));
  });
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
