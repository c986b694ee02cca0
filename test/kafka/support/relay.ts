/** Stands before a server, so that a test can break its connections off. */
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../../../src/controlplane/ports.ts';

export interface Relay {
  readonly port: number;
  /** Where to connect to; not before it is known. */
  to(port: number): void;
  /** Connections that came so far. */
  readonly connections: number;
  cut(): void;
  stop(): Promise<void>;
}

export async function startRelay(): Promise<Relay> {
  let target = 0;
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    connections++;
    const far = connect(target, '127.0.0.1');
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(into);
      from.on('error', () => into.destroy());
      from.on('close', () => {
        sockets.delete(from);
        into.destroy();
      });
    }
  });
  const port = await freePort();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    get connections() {
      return connections;
    },
    to(next) {
      target = next;
    },
    cut,
    stop() {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
