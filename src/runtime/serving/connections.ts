/**
 * The open connections of a server, bounded in total and per address. A new connection is never refused, because its
 * client may be one that authenticates during the handshake, behind an address that it shares with others: instead,
 * the least useful connection without authentication is closed. Authenticated connections are neither counted nor closed.
 */
import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

export interface ConnectionLimits {
  /** The maximum number of unauthenticated connections. */
  readonly total: number;
  readonly perAddress: number;
}

export interface Connections {
  /** All open connections, including those without a completed handshake. */
  readonly open: ReadonlySet<Socket>;
  /** Records that the handshake of a connection is complete, and whether its client is authenticated. */
  secured(socket: Socket, trusted: boolean): void;
  /** Records that a request of the connection was received. */
  used(socket: Socket): void;
}

interface Entry {
  readonly socket: Socket;
  readonly address: string;
  isSecured: boolean;
  /** The time of the last request; 0 before the first. */
  usedAt: number;
}

/** `boundConnections` follows the connections of a server from their first packet to their last. */
export function boundConnections(server: Server, limits: ConnectionLimits): Connections {
  const open = new Set<Socket>();
  const unauthenticated = new Map<string, Entry>();
  const perAddress = new Map<string, number>();
  const add = (entry: Entry, key: string) => {
    unauthenticated.set(key, entry);
    perAddress.set(entry.address, (perAddress.get(entry.address) ?? 0) + 1);
  };
  const remove = (key: string) => {
    const entry = unauthenticated.get(key);
    if (entry === undefined || !unauthenticated.delete(key)) return;
    const left = (perAddress.get(entry.address) ?? 1) - 1;
    if (left === 0) perAddress.delete(entry.address);
    else perAddress.set(entry.address, left);
  };
  const evict = (address: string | undefined) => {
    const victim = leastUseful(unauthenticated, address);
    if (victim === undefined) return;
    remove(victim.key);
    victim.entry.socket.destroy();
  };
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    const address = networkOf(socket.remoteAddress ?? '');
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      if (unauthenticated.get(key)?.socket === socket) remove(key);
    });
    if ((perAddress.get(address) ?? 0) >= limits.perAddress) evict(address);
    if (unauthenticated.size >= limits.total) evict(undefined);
    add({ socket, address, isSecured: false, usedAt: 0 }, key);
  });
  return {
    open,
    secured(socket, trusted) {
      const key = keyOf(socket);
      const entry = unauthenticated.get(key);
      if (trusted) remove(key);
      else if (entry !== undefined) entry.isSecured = true;
    },
    used(socket) {
      const entry = unauthenticated.get(keyOf(socket));
      if (entry !== undefined) entry.usedAt = performance.now();
    },
  };
}

/** Closes the connection of a client that does not read its answer: answers would pile up in memory. */
export function endSlowReader(response: ServerResponse, patienceMilliseconds: number): void {
  if (response.writableFinished) return;
  const timer = setTimeout(() => response.destroy(), patienceMilliseconds);
  response.once('close', () => clearTimeout(timer));
}

/** The socket of TLS and the one below it have the same peer. */
const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** One host has all addresses of an IPv6 /64 network. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [before = '', after] = address.split('::', 2);
  const groups = before === '' ? [] : before.split(':');
  const rest = after === undefined || after === '' ? [] : after.split(':');
  const zeros = after === undefined ? [] : Array.from({ length: 8 - groups.length - rest.length }, () => '0');
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':');
}

/** Chooses a connection that has sent no request, an unfinished handshake, or the one whose last request is the oldest. */
function leastUseful(entries: ReadonlyMap<string, Entry>, address: string | undefined) {
  let chosen: { key: string; entry: Entry } | undefined;
  for (const [key, entry] of entries) {
    if (address !== undefined && entry.address !== address) continue;
    if (chosen === undefined || usefulness(entry) < usefulness(chosen.entry)) chosen = { key, entry };
  }
  return chosen;
}

function usefulness({ isSecured, usedAt }: Entry): number {
  if (usedAt > 0) return usedAt;
  return isSecured ? -2 : -1;
}
