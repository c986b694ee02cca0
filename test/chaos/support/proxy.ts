/**
 * A TCP load balancer like a Kubernetes Service: one address for several replicas. Each connection goes to the next replica that accepts
 * it; a replica that hangs is not detected.
 */
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from '../../../src/controlplane/ports.ts';

export interface Front {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startFront(ports: readonly number[]): Promise<Front> {
  let turn = 0;
  const open = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, (incoming) => {
    open.add(incoming);
    incoming.on('close', () => open.delete(incoming));
    incoming.on('error', () => incoming.destroy());
    turn += 1;
    join(incoming, [...ports.slice(turn % ports.length), ...ports.slice(0, turn % ports.length)]);
  });

  function join(incoming: Socket, [port, ...others]: readonly number[]): void {
    if (port === undefined) {
      incoming.destroy();
      return;
    }
    const outgoing = connect({ host: '127.0.0.1', port });
    open.add(outgoing);
    let joined = false;
    outgoing.on('connect', () => {
      joined = true;
      incoming.pipe(outgoing);
      outgoing.pipe(incoming);
    });
    outgoing.on('error', () => {
      outgoing.destroy();
      if (!joined) join(incoming, others);
    });
    outgoing.on('close', () => {
      open.delete(outgoing);
      if (joined) incoming.destroy();
    });
    incoming.on('close', () => outgoing.destroy());
  }

  const port = await freePort();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    port,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
