/** Two ways to stand between a client and a real API server and spoil what passes: bytes of connections, and HTTP answers. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import type { ClusterConfig } from '../../../src/runtime/index.ts';

export interface TcpProxy {
  /** The config, but to the proxy. TLS passes through: the certificate is that of the API server. */
  config(of: ClusterConfig): ClusterConfig;
  readonly connections: number;
  /** The part of new connections that is reset, some at once and some after a while. */
  resetFraction: number;
  /** Whether new connections are taken at all. */
  open: boolean;
  /** Resets everything that is connected. */
  cut(): void;
  /** Ends everything that is connected, as a server does that stops. */
  hangUp(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: () => string): Promise<TcpProxy> {
  const pairs = new Set<Socket>();
  let count = 0;
  const server = createTcpServer({ noDelay: true }, (inner) => {
    count += 1;
    inner.on('error', () => {});
    if (!proxy.open) return void inner.resetAndDestroy();
    const { hostname, port } = new URL(target());
    const outer = connect({ port: Number(port), host: hostname, noDelay: true });
    pairs.add(inner);
    const end = () => {
      pairs.delete(inner);
      inner.resetAndDestroy();
      outer.destroy();
    };
    inner.on('close', end);
    outer.on('close', end);
    outer.on('error', end);
    inner.pipe(outer);
    outer.pipe(inner);
    if (Math.random() >= proxy.resetFraction) return;
    // In the handshake, in a request, in an answer, in a watch: wherever so many bytes fall.
    let left = Math.floor(Math.random() * 20_000);
    const spend = (chunk: Buffer) => {
      left -= chunk.length;
      if (left <= 0) end();
    };
    inner.on('data', spend);
    outer.on('data', spend);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: TcpProxy = {
    // What is written in the kubeconfig must not be read again: it names the server itself.
    config: ({ origin: _file, ...config }) => ({ ...config, server: `https://127.0.0.1:${port}` }),
    get connections() {
      return count;
    },
    resetFraction: 0,
    open: true,
    cut() {
      for (const socket of pairs) socket.resetAndDestroy();
    },
    hangUp() {
      for (const socket of pairs) socket.end();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        proxy.cut();
      }),
  };
  return proxy;
}

/** What is done with a request: passed on, answered in the server's place, or its answer cut off after some bytes. */
export type Fault =
  | { status: number; headers?: Record<string, string>; body?: string }
  | { cutAfterBytes: number }
  | undefined;

export interface HttpProxy {
  readonly config: ClusterConfig;
  readonly requests: { method: string; url: string; headers: IncomingHttpHeaders }[];
  fault: (request: { method: string; url: string }) => Fault;
  close(): Promise<void>;
}

/** Speaks plain HTTP to the client and TLS, as the config's user, to the API server. */
export async function startHttpProxy(config: ClusterConfig): Promise<HttpProxy> {
  const data = (material: ClusterConfig['clientKey']) =>
    material !== undefined && 'data' in material ? material.data : undefined;
  const target = new URL(config.server);
  const tls = {
    ca: data(config.certificateAuthority),
    cert: data(config.clientCertificate),
    key: data(config.clientKey),
  };
  const requests: HttpProxy['requests'] = [];

  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method = 'GET', url = '/', headers } = incoming;
    requests.push({ method, url, headers });
    const fault = proxy.fault({ method, url });
    if (fault !== undefined && 'status' in fault) {
      incoming.resume();
      outgoing.writeHead(fault.status, fault.headers);
      outgoing.end(fault.body);
      return;
    }
    const passed = httpsRequest(
      {
        ...tls,
        host: target.hostname,
        port: target.port,
        method,
        path: url,
        headers: { ...headers, host: target.host },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        outgoing.flushHeaders();
        let left = fault?.cutAfterBytes ?? Number.POSITIVE_INFINITY;
        answer.on('data', (chunk: Buffer) => {
          outgoing.write(chunk.subarray(0, left));
          left -= chunk.length;
          // After what was written is on its way, or it would be lost with the connection.
          if (left <= 0) setTimeout(() => outgoing.destroy(), 20);
        });
        answer.on('end', () => outgoing.end());
        answer.on('error', () => outgoing.destroy());
      },
    );
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  };

  const server: Server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: HttpProxy = {
    config: { server: `http://127.0.0.1:${port}`, source: 'the fault proxy' },
    requests,
    fault: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}
