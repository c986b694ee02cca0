/**
 * Starts the TLS handshakes of a server. A client that connects and says nothing costs a socket and no TLS, and a handshake
 * starts when its first message is complete: at most one in each turn of the event loop, the newest of one address after the
 * other. Node accepts one connection in each turn too, so while connections arrive, half of the time is left for them:
 * the queue of the listening socket stays short, whoever fills it.
 */
import type { Server, Socket } from 'node:net';
import type { Connections } from './connections.ts';
import { Shares } from './shares.ts';

/** How many connections the kernel keeps for us; it may be configured to keep fewer. More than the connections that one attack opens at once. */
export const backlog = 4096;

/** The longest pause between two handshakes while connections arrive. */
const longestPauseMilliseconds = 20;

interface Waiting {
  readonly socket: Socket;
  readonly address: string;
}

/** Puts itself in front of the listener that starts the TLS handshake of a connection. */
export function startHandshakes(server: Server, connections: Connections, patienceMilliseconds: number): void {
  const [start] = server.listeners('connection');
  if (start === undefined) throw new Error('a TLS server takes no connections');
  server.removeAllListeners('connection');
  const waiting = new Shares<Waiting>();
  let isScheduled = false;
  let isArriving = false;
  let nextAt = 0;

  const schedule = () => {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    setImmediate(turn);
  };
  const turn = () => {
    isScheduled = false;
    const now = performance.now();
    if (!isArriving || now >= nextAt) {
      const next = waiting.take('newest');
      if (next !== undefined && !next.socket.destroyed) {
        connections.entered(next.socket, 'handshaking');
        start.call(server, next.socket);
        // Node works on the handshake after this turn.
        setImmediate(() => {
          const took = performance.now() - now;
          nextAt = now + Math.min(2 * took, longestPauseMilliseconds);
        });
      }
    }
    isArriving = false;
    schedule();
  };

  server.on('connection', (socket: Socket) => {
    isArriving = true;
    const address = connections.arrived(socket, 'silent');
    const entry = { socket, address };
    const close = () => socket.destroy();
    const late = setTimeout(close, patienceMilliseconds);
    const received: Buffer[] = [];
    const read = () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) received.push(chunk);
      const bytes = Buffer.concat(received);
      const needed = bytesOfHello(bytes);
      if (needed === undefined) close();
      if (needed === undefined || bytes.length < needed) return;
      stop();
      socket.unshift(bytes);
      connections.entered(socket, 'waiting');
      waiting.add(entry);
      schedule();
    };
    const stop = () => {
      clearTimeout(late);
      socket.off('readable', read);
      socket.off('end', close);
    };
    socket.on('readable', read);
    socket.on('end', close);
    socket.on('error', close);
    socket.once('close', () => {
      clearTimeout(late);
      waiting.delete(entry);
    });
  });
}

const recordHeaderBytes = 5;
const longestRecord = 16 * 1024;
/** The type of a record that is part of a handshake. */
const handshakeRecord = 22;

/** Returns how many bytes the first record of a client has; undefined if it does not speak TLS. */
function bytesOfHello(bytes: Buffer): number | undefined {
  if (bytes.length > 0 && bytes[0] !== handshakeRecord) return undefined;
  if (bytes.length < recordHeaderBytes) return recordHeaderBytes;
  const length = bytes.readUInt16BE(3);
  return length > longestRecord ? undefined : recordHeaderBytes + length;
}
