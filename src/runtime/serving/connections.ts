/**
 * The open connections of a server whose clients are not authenticated, bounded in total and per address.
 *
 * A new connection is never refused, because its client may be one that authenticates during the handshake, behind an
 * address that it shares with others: instead, another connection of the same stage is closed. Connections that are not
 * yet through their handshake therefore compete with each other only, the oldest of the address that has the most loses,
 * and an honest client is done long before its turn comes. Authenticated connections are neither counted nor closed.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf, Shares } from './shares.ts';

export interface ConnectionLimits {
  /** The maximum number of connections without authentication, in total and per address. */
  readonly total: number;
  readonly perAddress: number;
  /** The maximum number of connections in each stage of the handshake. */
  readonly handshakes: number;
}

/**
 * The stages of a connection. `silent`: it has not sent a complete ClientHello. `waiting`: for its handshake to start.
 * `handshaking`. `unused`: without a request so far. `used`.
 */
type Stage = 'silent' | 'waiting' | 'handshaking' | 'unused' | 'used';

interface Entry {
  readonly socket: Socket;
  readonly address: string;
  stage: Stage | undefined;
  /** When it came into its stage, or of its last request. */
  since: number;
  /** How many of its requests are being answered. */
  answering: number;
}

/** The socket of TLS and the one below it have the same peer, and so the same entry. */
type Peer = Pick<Socket, 'remoteAddress' | 'remotePort'>;
const keyOf = ({ remoteAddress, remotePort }: Peer): string => `${remoteAddress} ${remotePort}`;

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #open = new Set<Socket>();
  readonly #entries = new Map<string, Entry>();
  readonly #stages: Readonly<Record<Stage, Shares<Entry>>> = {
    silent: new Shares(),
    waiting: new Shares(),
    handshaking: new Shares(),
    unused: new Shares(),
    used: new Shares(),
  };

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** All open connections, including authenticated ones and those without a completed handshake. */
  get open(): ReadonlySet<Socket> {
    return this.#open;
  }

  /** Follows a new connection to its end, and returns the address that it is counted for. */
  arrived(socket: Socket, stage: 'silent' | 'unused'): string {
    const key = keyOf(socket);
    const address = networkOf(socket.remoteAddress ?? '');
    const entry: Entry = { socket, address, stage: undefined, since: 0, answering: 0 };
    this.#open.add(socket);
    this.#entries.set(key, entry);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#leave(entry);
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    this.#enter(entry, stage);
    return address;
  }

  /** Records that the handshake of a connection has come further. */
  entered(peer: Peer, stage: 'waiting' | 'handshaking' | 'unused'): void {
    const entry = this.#entries.get(keyOf(peer));
    if (entry !== undefined) this.#enter(entry, stage);
  }

  /** Records that the client of a connection is authenticated. */
  trusted(peer: Peer): void {
    const entry = this.#entries.get(keyOf(peer));
    if (entry !== undefined) this.#leave(entry);
  }

  /** Records that a request of the connection was received. The result must be called when it is answered. */
  used(peer: Peer): () => void {
    const entry = this.#entries.get(keyOf(peer));
    if (entry?.stage === undefined) return () => {};
    entry.answering += 1;
    this.#enter(entry, 'used');
    let answered = false;
    return () => {
      if (!answered) entry.answering -= 1;
      answered = true;
    };
  }

  #enter(entry: Entry, stage: Stage): void {
    this.#leave(entry);
    if (entry.socket.destroyed) return;
    this.#makeRoom(entry.address, stage);
    entry.stage = stage;
    entry.since = performance.now();
    this.#stages[stage].add(entry);
  }

  #leave(entry: Entry): void {
    if (entry.stage !== undefined) this.#stages[entry.stage].delete(entry);
    entry.stage = undefined;
  }

  #makeRoom(address: string, stage: Stage): void {
    const { unused, used } = this.#stages;
    if (stage !== 'unused' && stage !== 'used') {
      const entries = this.#stages[stage];
      if (entries.size >= this.#limits.handshakes) this.#close(first(entries.ofLargest()));
      return;
    }
    if (unused.countOf(address) + used.countOf(address) >= this.#limits.perAddress)
      this.#close(first(unused.of(address)) ?? leastUseful(used.of(address)));
    if (unused.size + used.size >= this.#limits.total)
      this.#close(first(unused.ofLargest()) ?? leastUseful(used.all()));
  }

  #close(entry: Entry | undefined): void {
    if (entry === undefined) return;
    this.#leave(entry);
    entry.socket.destroy();
  }
}

function first(entries: Iterable<Entry>): Entry | undefined {
  for (const entry of entries) return entry;
  return undefined;
}

/** Chooses the connection whose last request is the oldest, and one with a request in flight only if all have one. */
function leastUseful(entries: Iterable<Entry>): Entry | undefined {
  let chosen: Entry | undefined;
  for (const entry of entries) {
    const isBusier = chosen !== undefined && entry.answering > 0 && chosen.answering === 0;
    const isIdler = chosen !== undefined && entry.answering === 0 && chosen.answering > 0;
    if (chosen === undefined || isIdler || (!isBusier && entry.since < chosen.since)) chosen = entry;
  }
  return chosen;
}

/** Closes the connection of a client that does not read its answer: answers would pile up in memory. */
export function endSlowReader(response: ServerResponse, patienceMilliseconds: number): void {
  if (response.writableFinished) return;
  const timer = setTimeout(() => response.destroy(), patienceMilliseconds);
  response.once('close', () => clearTimeout(timer));
}
