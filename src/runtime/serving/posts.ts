/**
 * A fast path for the requests that an API server sends to a webhook: a POST of JSON with a Content-Length, over a kept-alive
 * connection. Node's HTTP server takes longer to answer such a request than most reviews take to evaluate
 * (docs/decisions/0018-reviews-without-nodes-http.md).
 *
 * HTTP is not implemented partially here: any request that differs from that form (another method, a header that is not known to be
 * harmless, a chunked, long or slow body) is handed over to Node with every byte as received, and so is the rest of its connection.
 */
import { STATUS_CODES } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Caller } from './clients.ts';
import { networkOf } from './shares.ts';
import { Turns } from './turns.ts';

export interface PostAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON document. */
  readonly body: string;
}

/** Answers a POST; `target` is the path with its query. Returns undefined to let Node's HTTP server answer. */
export type AnswerPost = (target: string, body: string, caller: Caller) => PostAnswer | Promise<PostAnswer> | undefined;

interface PostOptions {
  readonly answer: AnswerPost;
  /** Takes over a connection, whose unread bytes were put back. */
  readonly handOver: (socket: TLSSocket) => void;
  /** Called for each request that was received as a whole. The result is called with its answer. */
  readonly used: (socket: TLSSocket) => () => void;
  readonly draining: () => boolean;
  readonly keepAliveMilliseconds: number;
  /** The time limits for the first request of an unauthenticated client, and for reading an answer. */
  readonly patienceMilliseconds: number;
}

export interface Posts {
  take(socket: TLSSocket, caller: Caller): void;
  /** Ends idle connections; the others end with their answer, because the server is draining. */
  endIdle(): void;
  stop(): void;
}

/** Longer bodies are left to Node, which applies backpressure. */
const longestBody = 64 * 1024;
const longestHead = 8 * 1024;
/** A client that takes longer to send a request is handed over to Node, which enforces its timeouts. */
const handOverMilliseconds = 1_000;

export function answerPosts(options: PostOptions): Posts {
  const connections = new Set<Connection>();
  const turns = new Turns<Connection>((connection) => connection.answer());
  const sweep = setInterval(() => {
    const since = performance.now() - handOverMilliseconds;
    for (const each of connections) each.giveUp(since);
  }, handOverMilliseconds);
  sweep.unref();
  return {
    take(socket, caller) {
      const connection = new Connection(socket, caller, { ...options, turns }, () => {
        connections.delete(connection);
        turns.delete(connection);
      });
      connections.add(connection);
    },
    endIdle() {
      for (const each of connections) each.endIfIdle();
    },
    stop() {
      clearInterval(sweep);
    },
  };
}

interface Head {
  readonly target: string;
  /** The length of the head, with the empty line after it. */
  readonly bytes: number;
  readonly bodyBytes: number;
}

class Connection {
  readonly address: string;
  readonly #socket: TLSSocket;
  readonly #caller: Caller;
  readonly #options: PostOptions & { readonly turns: Turns<Connection> };
  readonly #forget: () => void;
  /** Received bytes that are not answered yet. */
  #chunks: Buffer[] = [];
  #bytes = 0;
  #since = 0;
  #head: Head | undefined;
  /** The last head, kept because an API server repeats it. */
  #lastText = '';
  #lastHead: Head | undefined;
  #isUsed = false;
  #answering = false;
  #paused = false;
  #ended = false;
  /** Called with the answer. */
  #done: (() => void) | undefined;

  constructor(
    socket: TLSSocket,
    caller: Caller,
    options: PostOptions & { readonly turns: Turns<Connection> },
    forget: () => void,
  ) {
    this.address = networkOf(socket.remoteAddress ?? '');
    this.#socket = socket;
    this.#caller = caller;
    this.#options = options;
    this.#forget = forget;
    socket.on('data', this.#take);
    socket.on('end', this.#end);
    socket.on('error', this.#fail);
    socket.on('close', forget);
    socket.setTimeout(caller.trusted ? options.keepAliveMilliseconds : options.patienceMilliseconds, this.#fail);
  }

  endIfIdle(): void {
    if (!this.#answering && this.#bytes === 0) this.#socket.end();
  }

  /** Hands the connection over if its request started before `since`. */
  giveUp(since: number): void {
    if (!this.#answering && this.#bytes > 0 && this.#since < since) this.#handOver();
  }

  readonly #take = (chunk: Buffer): void => {
    if (this.#bytes === 0) this.#since = performance.now();
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // One request at a time: a client that pipelines the next one waits for the answer.
    if (!this.#answering) this.#next();
    else {
      this.#paused = true;
      this.#socket.pause();
    }
  };

  readonly #end = (): void => {
    this.#ended = true;
    if (!this.#answering) this.#socket.end();
  };

  readonly #fail = (): void => {
    this.#socket.destroy();
  };

  /** Answers the current request once all of it was received. Only an authenticated client does not wait for its turn. */
  #next(): void {
    this.#head ??= this.#readHead();
    if (this.#head === undefined || this.#bytes < this.#head.bytes + this.#head.bodyBytes) return;
    if (this.#caller.trusted) {
      this.answer();
      return;
    }
    this.#answering = true;
    this.#options.turns.add(this);
  }

  /** Answers the request that was received. */
  answer(): void {
    if (this.#head === undefined) return;
    const { target, bytes, bodyBytes } = this.#head;
    const received = this.#joined();
    const end = bytes + bodyBytes;
    this.#used();
    const answer = this.#answerTo(target, received.toString('utf8', bytes, end));
    if (answer === undefined) {
      this.#handOver();
      return;
    }
    this.#head = undefined;
    this.#bytes -= end;
    this.#chunks = this.#bytes === 0 ? [] : [received.subarray(end)];
    this.#answering = true;
    if (answer instanceof Promise) answer.then((settled) => this.#send(settled)).catch(this.#fail);
    else this.#send(answer);
  }

  /** A client that has sent a request may wait longer before the next one. */
  #used(): void {
    if (this.#caller.trusted) return;
    this.#done = this.#options.used(this.#socket);
    if (this.#isUsed) return;
    this.#isUsed = true;
    this.#socket.setTimeout(this.#options.keepAliveMilliseconds);
  }

  /** An error affects only the connection of this client. */
  #answerTo(target: string, body: string): ReturnType<AnswerPost> {
    try {
      return this.#options.answer(target, body, this.#caller);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Returns undefined if the head is incomplete, or if the request was handed over. */
  #readHead(): Head | undefined {
    const received = this.#joined();
    const end = received.indexOf('\r\n\r\n');
    if (end < 0 && this.#bytes <= longestHead) return undefined;
    const text = received.toString('latin1', 0, Math.max(end, 0));
    if (text !== this.#lastText) {
      this.#lastText = text;
      this.#lastHead = readHead(text);
    }
    if (this.#lastHead === undefined) this.#handOver();
    return this.#lastHead;
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    if (this.#chunks.length === 1 && first !== undefined) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #send({ status, headers = {}, body }: PostAnswer): void {
    this.#done?.();
    if (!this.#socket.writable) return;
    const closing = this.#ended || this.#options.draining() || headers.connection === 'close';
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json\r\n`;
    head += `Content-Length: ${Buffer.byteLength(body)}\r\nDate: ${dateNow()}\r\n`;
    for (const name of Object.keys(headers)) if (name !== 'connection') head += `${name}: ${headers[name]}\r\n`;
    const text = `${head}${closing ? 'Connection: close\r\n' : ''}\r\n${body}`;
    if (closing) {
      this.#socket.end(text);
      this.#endSlowReader();
      return;
    }
    // A client that does not read its answers must not send more: answers would pile up here.
    if (this.#socket.write(text)) this.#answered();
    else {
      this.#socket.once('drain', this.#answered);
      this.#endSlowReader();
    }
  }

  #endSlowReader(): void {
    const socket = this.#socket;
    if (socket.writableLength === 0) return;
    const timer = setTimeout(this.#fail, this.#options.patienceMilliseconds);
    const clear = () => {
      clearTimeout(timer);
      socket.off('drain', clear);
      socket.off('close', clear);
    };
    socket.once('drain', clear);
    socket.once('close', clear);
  }

  readonly #answered = (): void => {
    this.#answering = this.#bytes > 0;
    this.#readOn();
    // Deferred, because many requests in one chunk would otherwise recurse as deep.
    if (this.#answering) setImmediate(this.#goOn);
  };

  readonly #goOn = (): void => {
    this.#answering = false;
    if (!this.#socket.destroyed) this.#next();
    this.#readOn();
  };

  #readOn(): void {
    if (!this.#paused || this.#answering) return;
    this.#paused = false;
    this.#socket.resume();
  }

  #handOver(): void {
    const socket = this.#socket;
    socket.off('data', this.#take);
    socket.off('end', this.#end);
    socket.off('error', this.#fail);
    socket.off('close', this.#forget);
    socket.setTimeout(0, this.#fail);
    this.#forget();
    const received = this.#joined();
    this.#chunks = [];
    socket.pause();
    socket.unshift(received);
    this.#options.handOver(socket);
    socket.resume();
  }
}

/** Headers that do not change how a request is read or answered. */
const harmless: ReadonlySet<string> = new Set([
  'host',
  'user-agent',
  'accept',
  'accept-encoding',
  'traceparent',
  'tracestate',
  'baggage',
]);

/** Returns undefined for every head that is not exactly in the known form. */
function readHead(text: string): Head | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const target = /^POST (\/[\x21-\x7e]*) HTTP\/1\.1$/.exec(first)?.[1];
  if (target === undefined) return undefined;
  const found = new Map<string, string>();
  for (const line of lines) {
    const [, written = '', value = ''] = /^([A-Za-z-]+):[ ]?([\x20-\x7e]*)$/.exec(line) ?? [];
    const name = written.toLowerCase();
    if (name === '' || found.has(name)) return undefined;
    if (!isKnown(name, value)) return undefined;
    found.set(name, value);
  }
  const length = found.get('content-length') ?? '';
  const isPlain = found.get('content-type') === 'application/json' && found.has('host') && /^\d{1,6}$/.test(length);
  if (!isPlain || Number(length) > longestBody) return undefined;
  return { target, bytes: text.length + 4, bodyBytes: Number(length) };
}

function isKnown(name: string, value: string): boolean {
  if (name === 'connection') return value === 'keep-alive';
  return harmless.has(name) || name === 'content-type' || name === 'content-length';
}

let dateText = '';
let dateUntil = 0;

/** The Date header, formatted once a second. */
function dateNow(): string {
  const now = Date.now();
  if (now >= dateUntil) {
    dateText = new Date(now).toUTCString();
    dateUntil = now - (now % 1000) + 1000;
  }
  return dateText;
}
