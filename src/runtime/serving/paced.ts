/**
 * A connection whose bytes are given to Node's HTTP server in turns with those of other connections (turns.ts), and no
 * further request before the last one is answered: Node otherwise parses and answers all that a client has sent at once,
 * however many requests that are.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { networkOf } from './shares.ts';
import { Turns } from './turns.ts';

/** How much is parsed in one go: the head of a usual request, and more of a body. */
const headBytes = 2 * 1024;
const bodyBytes = 64 * 1024;

export class PacedConnection extends Duplex {
  readonly address: string;
  readonly #socket: Socket;
  readonly #turns: Turns<PacedConnection>;
  /** Received bytes that were not given out yet. */
  #rest: Buffer | undefined;
  #isWanted = false;
  /** The last request, until it is answered. */
  #request: IncomingMessage | undefined;
  /** At least so many of the next bytes are the body of the last request. */
  #bodyLeft = 0;

  constructor(socket: Socket, turns: Turns<PacedConnection>) {
    super({ allowHalfOpen: true, autoDestroy: true });
    this.address = networkOf(socket.remoteAddress ?? '');
    this.#socket = socket;
    this.#turns = turns;
    socket.on('readable', this.#ready);
    socket.on('end', this.#ready);
    socket.on('timeout', () => this.emit('timeout'));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  /** Gives out nothing more than the body of this request until it is answered. */
  follow(request: IncomingMessage, response: ServerResponse): void {
    this.#request = request;
    this.#bodyLeft = Number(request.headers['content-length'] ?? 0);
    response.once('close', () => {
      if (this.#request !== request) return;
      this.#request = undefined;
      this.#ready();
    });
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }

  setTimeout(milliseconds: number, listener?: () => void): this {
    this.#socket.setTimeout(milliseconds);
    if (listener !== undefined) this.once('timeout', listener);
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end(() => this.destroy());
  }

  override _read(): void {
    this.#isWanted = true;
    this.#ready();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, encoding, done);
  }

  override _writev(
    chunks: { readonly chunk: Buffer; readonly encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.cork();
    for (const [index, { chunk, encoding }] of chunks.entries())
      this.#socket.write(chunk, encoding, index === chunks.length - 1 ? done : undefined);
    this.#socket.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#turns.delete(this);
    this.#rest = undefined;
    this.#socket.destroy();
    done(error);
  }

  /** Gives out the next bytes. */
  advance(): void {
    if (!this.#isWanted || this.#mustWait()) return;
    const received = this.#rest ?? (this.#socket.read() as Buffer | null);
    if (received === null) {
      if (this.#socket.readableEnded && !this.readableEnded) this.push(null);
      return;
    }
    const slice = received.subarray(0, Math.max(headBytes, Math.min(bodyBytes, this.#bodyLeft)));
    this.#rest = received.length > slice.length ? received.subarray(slice.length) : undefined;
    this.#isWanted = false;
    this.push(slice);
    this.#bodyLeft -= slice.length;
  }

  readonly #ready = (): void => {
    const { readableLength, readableEnded } = this.#socket;
    if (this.destroyed || !this.#isWanted || this.#mustWait()) return;
    if (this.#rest !== undefined || readableLength > 0 || readableEnded) this.#turns.add(this);
  };

  /** The body of a request that is being answered may still arrive. */
  #mustWait(): boolean {
    return this.#request?.complete === true;
  }
}

/** `pace` makes connections that take turns with each other. */
export function pace(): (socket: Socket) => PacedConnection {
  const turns = new Turns<PacedConnection>((connection) => connection.advance());
  return (socket) => new PacedConnection(socket, turns);
}
