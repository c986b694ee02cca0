/**
 * One request and its complete answer over a pool, with a deadline that includes the body, an abort signal and a size
 * limit.
 */
import { sizeFailure } from './failures.ts';
import { isPacked, type Unpacker, unpack, unpackWhole } from './unpack.ts';
import type { AnswerHandler, Dispatcher, Flow, HeaderValues } from './wire/index.ts';

export type { HeaderValues };

export interface Exchange {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  /** Alternating names and values. */
  readonly headers: string[];
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
  readonly maximumResponseBytes: number;
  /**
   * Receives the decompressed body of a 200 in chunks; the answer then has none. An error that it throws ends the
   * exchange.
   */
  readonly sink?: ((chunk: Buffer) => void) | undefined;
  /** Called when the request is sent on a connection. */
  readonly onSent?: (() => void) | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: HeaderValues;
  readonly body: Buffer;
}

/** Thrown by `exchange` instead of the error of the pool if the deadline passed or the signal was aborted. */
export class Interrupted extends Error {
  readonly by: 'deadline' | 'signal';
  constructor(by: 'deadline' | 'signal') {
    super(`interrupted by the ${by}`);
    this.by = by;
  }
}

/**
 * Contains the unclassified error of the pool, and the progress of the request: whether it was sent, and whether a
 * first byte of the answer was received.
 */
export class Lost extends Error {
  readonly sent: boolean;
  readonly answered: boolean;
  constructor(cause: unknown, sent: boolean, answered: boolean) {
    super('no whole answer', { cause });
    this.sent = sent;
    this.answered = answered;
  }
}

/** `exchange` makes one request and resolves with the whole answer. It rejects with `Interrupted` or `Lost`. */
export function exchange(dispatcher: Dispatcher, request: Exchange, deadline: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const receiver = new Receiver(request, deadline, resolve, reject);
    if (receiver.finished) return;
    const { origin, method, path, headers, body } = request;
    dispatcher.dispatch({ origin, method, path, headers, body: body ?? null }, receiver);
  });
}

/**
 * Receives one answer: collects its body or passes it to the sink, until it is complete, too large, late or aborted.
 */
class Receiver implements AnswerHandler {
  finished = false;
  readonly #request: Exchange;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  readonly #timer: NodeJS.Timeout;
  #flow: Flow | undefined;
  #status = 0;
  #headers: HeaderValues = {};
  #chunks: Buffer[] = [];
  #size = 0;
  #unpacker: Unpacker | undefined;

  constructor(request: Exchange, deadline: number, resolve: (answer: Answer) => void, reject: (error: Error) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    const remaining = Math.max(0, deadline - performance.now());
    this.#timer = setTimeout(() => this.#interrupt(new Interrupted('deadline')), remaining);
    if (request.signal?.aborted === true) this.#onAbort();
    else request.signal?.addEventListener('abort', this.#onAbort);
  }

  onRequestStart(flow: Flow): void {
    this.#flow = flow;
    if (this.finished) flow.abort(new Interrupted('signal'));
    else this.#request.onSent?.();
  }

  onResponseStart(_flow: Flow, status: number, headers: HeaderValues): void {
    this.#status = status;
    this.#headers = headers;
    const { sink } = this.#request;
    if (sink === undefined || status !== 200 || !isPacked(headers)) return;
    this.#unpacker = unpack({
      sink,
      onDrain: () => this.#flow?.resume(),
      onEnd: () => this.#answer(),
      onError: (error) => this.#interrupt(new Lost(error, true, true)),
    });
  }

  onResponseData(_flow: Flow, chunk: Buffer): void {
    if (this.finished) return;
    const { sink } = this.#request;
    if (this.#unpacker !== undefined) {
      if (!this.#unpacker.write(chunk)) this.#flow?.pause();
    } else if (sink !== undefined && this.#status === 200) {
      try {
        sink(chunk);
      } catch (error) {
        this.#interrupt(new Lost(error, true, true));
      }
    } else this.#collect(chunk);
  }

  onResponseEnd(): void {
    if (this.finished) return;
    if (this.#unpacker === undefined) this.#answer();
    else this.#unpacker.end();
  }

  onResponseError(_flow: Flow | null, error: Error): void {
    if (this.finished) return;
    this.#finish();
    this.#unpacker?.abandon();
    this.#reject(new Lost(error, this.#flow !== undefined, this.#status !== 0));
  }

  #collect(chunk: Buffer): void {
    const { maximumResponseBytes } = this.#request;
    this.#size += chunk.length;
    if (this.#size <= maximumResponseBytes) {
      this.#chunks.push(Buffer.from(chunk));
      return;
    }
    const error = new Error(`the answer is larger than ${maximumResponseBytes} bytes`);
    this.#interrupt(new Lost(Object.assign(error, { code: sizeFailure }), true, true));
  }

  #answer(): void {
    if (this.finished) return;
    const [only] = this.#chunks;
    let body = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks, this.#size);
    this.#chunks = [];
    try {
      if (this.#unpacker === undefined && isPacked(this.#headers) && this.#size > 0)
        body = unpackWhole(body, this.#request.maximumResponseBytes);
    } catch (error) {
      this.#interrupt(new Lost(error, true, true));
      return;
    }
    this.#finish();
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  #interrupt(error: Error): void {
    if (this.finished) return;
    this.#finish();
    this.#unpacker?.abandon();
    this.#reject(error);
    this.#flow?.abort(error);
  }

  readonly #onAbort = (): void => this.#interrupt(new Interrupted('signal'));

  #finish(): void {
    this.finished = true;
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
  }
}
