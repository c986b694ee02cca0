/** Clients that use up a server: each holds connections in another way. They count how many the server has ended. */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect } from 'node:tls';

export interface Target {
  readonly port: number;
  /** Undefined for a server without TLS. */
  readonly ca?: string | undefined;
}

export interface Attack {
  readonly sockets: readonly Socket[];
  /** How many connections the server has ended. */
  ended(): number;
  stop(): void;
}

/** `hold` opens connections, and calls `each` for every one of them once it is open. */
export async function hold(
  { port, ca }: Target,
  count: number,
  each: (socket: Socket) => void,
  { raw = false }: { readonly raw?: boolean } = {},
): Promise<Attack> {
  let ended = 0;
  const sockets = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve) => {
          const address = { host: '127.0.0.1', port };
          const opened = () => {
            // Without reading, the end of a connection is not noticed.
            socket.resume();
            each(socket);
            resolve(socket);
          };
          const socket: Socket =
            raw || ca === undefined
              ? connectTcp(address, opened)
              : connect({ ...address, ca, servername: 'localhost' }, opened);
          socket.on('error', () => resolve(socket));
          socket.on('close', () => {
            ended += 1;
            resolve(socket);
          });
        }),
    ),
  );
  return {
    sockets,
    ended: () => ended,
    stop() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sends a text one character at a time, and the last one never. */
export function trickle(text: string, milliseconds = 200): (socket: Socket) => void {
  return (socket) => {
    let at = 0;
    const timer = setInterval(() => {
      if (socket.destroyed) clearInterval(timer);
      else if (at < text.length - 1) socket.write(text.charAt(at++));
    }, milliseconds);
    socket.once('close', () => clearInterval(timer));
  };
}

export const postHead = (path: string, bytes: number, more = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n${more}\r\n`;
