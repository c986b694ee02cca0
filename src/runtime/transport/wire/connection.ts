/** One connection: opens it, carries one request after the other, and notifies its owner when it is free or closed. */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { AnswerReader } from './answer-reader.ts';
import type { AnswerHandler, Flow, HeaderValues, HeldHandler, HeldRequest, WireRequest } from './dispatcher.ts';
import { heldBytes, requestBytes } from './request-bytes.ts';

export type Task =
  | { readonly held: false; readonly request: WireRequest; readonly handler: AnswerHandler }
  | { readonly held: true; readonly request: HeldRequest; readonly handler: HeldHandler };

/**
 * Starts to connect. Received bytes are written to `buffer` and passed to `callback`, which pauses by returning false.
 */
export type OpenSocket = (options: {
  onread: { buffer: Buffer; callback: (bytes: number, buffer: Uint8Array) => boolean };
  session: Buffer | undefined;
}) => Socket | TLSSocket;

interface ConnectionOptions {
  open: OpenSocket;
  /** The value of the Host header. */
  host: string;
  connectMilliseconds: number;
  idleMilliseconds: number;
  /** The TLS session of an earlier connection to the same server. */
  session: Buffer | undefined;
  onSession: (session: Buffer) => void;
  /** Called when the connection can carry the next request. */
  onFree: () => void;
  onGone: () => void;
}

/** The maximal size of a TLS record, and therefore of one read. */
const readBytes = 16 * 1024;

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #socket: Socket | TLSSocket;
  readonly #reader: AnswerReader;
  #task: Task | undefined;
  #flow: ConnectionFlow | undefined;
  #timer: NodeJS.Timeout;
  #connected = false;
  #gone = false;
  #free = false;
  /** Whether the server has not asked for the body yet. */
  #holds = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#reader = new AnswerReader({
      proceed: () => this.#onProceed(),
      head: (status, headers) => this.#onHead(status, headers),
      data: (chunk) => this.#onData(chunk),
      end: (reusable) => this.#onEnd(reusable),
    });
    const socket = options.open({
      onread: {
        // The buffer is reused for every read: allocating memory for every few kilobytes costs more than copying the
        // data that is kept.
        buffer: Buffer.allocUnsafeSlow(readBytes),
        callback: (bytes, buffer) => this.#take(buffer as Buffer, bytes),
      },
      session: options.session,
    });
    this.#socket = socket;
    this.#timer = setTimeout(
      () => this.destroy(connectTimeout(options.connectMilliseconds)),
      options.connectMilliseconds,
    );
    socket.setNoDelay(true);
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => this.#onConnect());
    socket.on('session', options.onSession);
    socket.on('error', (error) => this.destroy(error));
    socket.on('end', () => this.#onRemoteEnd());
    socket.on('close', () => this.destroy(hungUp()));
  }

  /** Sends the request, once connected. Only one at a time: call it again after `onFree`. */
  carry(task: Task): void {
    this.#task = task;
    if (!this.#connected) return;
    this.#socket.ref();
    this.#send(task);
  }

  /** Marks the connection as idle: it does not keep the process alive, and is closed after a while. */
  rest(): void {
    this.#timer.refresh();
    this.#socket.unref();
  }

  end(): void {
    this.destroy(hungUp());
  }

  /** Closes the connection. Requests that wait for an answer fail with the reason. */
  destroy(reason: Error): void {
    if (this.#gone) return;
    this.#gone = true;
    clearTimeout(this.#timer);
    this.#socket.destroy();
    const task = this.#task;
    const flow = this.#settle();
    this.#options.onGone();
    task?.handler.onResponseError(flow, reason);
  }

  #onConnect(): void {
    this.#connected = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#task === undefined) this.end();
    }, this.#options.idleMilliseconds);
    this.#timer.unref();
    if (this.#task !== undefined) this.#send(this.#task);
  }

  #send(task: Task): void {
    const flow = new ConnectionFlow(this, this.#socket);
    this.#flow = flow;
    let bytes: string | Buffer;
    try {
      const { host } = this.#options;
      bytes = task.held ? heldBytes(task.request, host) : requestBytes(task.request, host);
    } catch (error) {
      this.#refuse(error as Error);
      return;
    }
    task.handler.onRequestStart(flow);
    // The request was aborted while it waited for a connection. Nothing was sent, so the connection is still usable.
    if (flow.aborted !== undefined) {
      this.#refuse(flow.aborted);
      return;
    }
    flow.sent = true;
    this.#holds = task.held && task.request.body.length > 0;
    this.#reader.expect(task.request.method);
    if (typeof bytes === 'string') this.#socket.write(bytes, 'latin1');
    else this.#socket.write(bytes);
  }

  #refuse(error: Error): void {
    const task = this.#task;
    const flow = this.#settle();
    this.#options.onFree();
    task?.handler.onResponseError(flow, error);
  }

  #take(buffer: Buffer, bytes: number): boolean {
    if (this.#gone) return true;
    try {
      this.#reader.take(buffer.subarray(0, bytes));
    } catch (error) {
      this.destroy(error as Error);
    }
    // Deferred until here, because bytes after an answer in the same piece would be read as the answer to the next
    // request.
    if (this.#free && !this.#gone) {
      this.#free = false;
      this.#options.onFree();
    }
    return this.#flow?.paused !== true;
  }

  #onProceed(): void {
    const task = this.#task;
    if (!this.#holds || task?.held !== true || this.#flow === undefined) return;
    if (!task.handler.onContinue(this.#flow) || this.#gone) return;
    this.#holds = false;
    this.#socket.write(task.request.body);
  }

  #onHead(status: number, headers: HeaderValues): void {
    if (this.#flow !== undefined) this.#task?.handler.onResponseStart(this.#flow, status, headers);
  }

  #onData(chunk: Buffer): void {
    if (this.#flow !== undefined) this.#task?.handler.onResponseData(this.#flow, chunk);
  }

  #onEnd(reusable: boolean): void {
    const task = this.#task;
    if (task === undefined) return;
    this.#settle();
    // If the answer arrived before all of the request was sent, the server has perhaps not read the rest.
    if (reusable && !this.#holds && this.#socket.writableLength === 0) this.#free = true;
    else this.end();
    task.handler.onResponseEnd();
  }

  #onRemoteEnd(): void {
    this.#reader.close();
    this.destroy(hungUp());
  }

  #settle(): Flow {
    const flow = this.#flow ?? new ConnectionFlow(this, this.#socket);
    flow.end();
    this.#task = undefined;
    this.#flow = undefined;
    return flow;
  }
}

/** The control of the caller over one answer; without effect once the answer is complete. */
class ConnectionFlow implements Flow {
  readonly #connection: Connection;
  readonly #socket: Socket;
  #ended = false;
  paused = false;
  sent = false;
  aborted: Error | undefined;

  constructor(connection: Connection, socket: Socket) {
    this.#connection = connection;
    this.#socket = socket;
  }

  pause(): void {
    if (this.#ended || this.paused) return;
    this.paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.#socket.resume();
  }

  abort(reason: Error): void {
    if (this.#ended) return;
    this.aborted = reason;
    // The rest of an unwanted answer would have to be read before the connection can be reused.
    if (this.sent) this.#connection.destroy(reason);
  }

  end(): void {
    this.resume();
    this.#ended = true;
  }
}

const hungUp = () => Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' });

const connectTimeout = (milliseconds: number) =>
  Object.assign(new Error(`no connection within ${milliseconds} ms`), { code: 'ETIMEDOUT' });
