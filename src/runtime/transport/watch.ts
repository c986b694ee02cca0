/**
 * A watch is one long answer with a JSON event on each line. Events are yielded when they arrive; a slow reader pauses
 * the connection.
 */
import type { WatchEvent } from '../client/client.ts';
import { ConnectionError } from '../errors.ts';
import { statusError } from './answers.ts';
import type { Answer, Exchange, HeaderValues } from './exchange.ts';
import { Interrupted, Lost } from './exchange.ts';
import { abortError, connectionError } from './failures.ts';
import { splitLines } from './lines.ts';
import type { Call, Sender } from './send.ts';
import type { AnswerHandler, Dispatcher, Flow } from './wire/index.ts';

/** The number of events read ahead of the reader before the connection is paused. */
const readAhead = 1_000;

export async function* watchEvents<T>(
  sender: Sender,
  call: Call,
  onOpen: (() => void) | undefined,
): AsyncGenerator<WatchEvent<T>> {
  const opened = await sender.persist(call, (pools, request, deadline) =>
    openStream<T>(pools.watch, request, deadline, sender.options.maximumEventBytes),
  );
  if (opened.refusal !== undefined) throw statusError(call.doing, opened.refusal);
  const { stream } = opened;
  try {
    onOpen?.();
    for (;;) {
      const batch = stream.take();
      for (const event of batch) yield event;
      if (batch.length > 0) continue;
      if (stream.failure !== undefined) throw explain(stream.failure);
      if (stream.ended) return;
      await stream.more();
    }
  } finally {
    stream.abandon();
  }

  function explain(failure: unknown): Error {
    if (failure instanceof Interrupted && call.signal !== undefined) return abortError(call.doing, call.signal);
    if (failure instanceof Broken) {
      return new ConnectionError({
        doing: call.doing,
        failure: 'reset',
        message: failure.message,
        hint: 'Watch again from the last resourceVersion',
        cause: failure.cause,
      });
    }
    return connectionError(call.doing, sender.config, failure);
  }
}

/** The stream ended or failed inside an event. */
class Broken extends Error {}

/** A stream whose headers were received, or the complete answer of a server that rejected it. */
interface Opened<T> {
  readonly status: number;
  readonly headers: HeaderValues;
  readonly stream: EventStream<T>;
  readonly refusal: Answer | undefined;
}

/** Resolves with the headers of a stream, or with the complete answer of a rejection. */
function openStream<T>(
  dispatcher: Dispatcher,
  request: Exchange,
  deadline: number,
  maximumEventBytes: number,
): Promise<Opened<T>> {
  return new Promise((resolve, reject) => {
    const stream = new EventStream<T>({ request, deadline, maximumEventBytes, resolve, reject });
    if (stream.ended) return;
    const { origin, method, path, headers } = request;
    dispatcher.dispatch({ origin, method, path, headers }, stream);
  });
}

interface StreamOptions<T> {
  readonly request: Exchange;
  /** The time limit for receiving the headers. */
  readonly deadline: number;
  readonly maximumEventBytes: number;
  readonly resolve: (opened: Opened<T>) => void;
  readonly reject: (error: Error) => void;
}

/** The receiving end of one watch: it buffers events until they are taken, and pauses the connection when the reader is slow. */
class EventStream<T> implements AnswerHandler {
  ended = false;
  readonly #options: StreamOptions<T>;
  readonly #timer: NodeJS.Timeout;
  readonly #lines: ReturnType<typeof splitLines>;
  readonly #refusal: Buffer[] = [];
  #flow: Flow | undefined;
  #events: WatchEvent<T>[] = [];
  #wake: (() => void) | undefined;
  #failure: unknown;
  /** Whether the promise of `openStream` is settled. */
  #settled = false;
  #status = 0;
  #headers: HeaderValues = {};

  constructor(options: StreamOptions<T>) {
    this.#options = options;
    this.#lines = splitLines(options.maximumEventBytes, (line) => this.#events.push(JSON.parse(line) as WatchEvent<T>));
    const remaining = Math.max(0, options.deadline - performance.now());
    this.#timer = setTimeout(() => this.#stop(new Interrupted('deadline')), remaining);
    const { signal } = options.request;
    if (signal?.aborted === true) this.#onAbort();
    else signal?.addEventListener('abort', this.#onAbort);
  }

  /** The error that ended the stream, available after all preceding events were taken. */
  get failure(): unknown {
    return this.#events.length === 0 ? this.#failure : undefined;
  }

  take(): WatchEvent<T>[] {
    const taken = this.#events;
    if (taken.length > 0) this.#events = [];
    if (this.#flow?.paused === true) this.#flow.resume();
    return taken;
  }

  /** Resolves when there are events to take, or the stream has ended. */
  more(): Promise<void> {
    return new Promise((wakeUp) => {
      this.#wake = wakeUp;
      if (this.#events.length > 0 || this.ended) this.#notify();
    });
  }

  abandon(): void {
    if (!this.ended) this.#stop(new Interrupted('signal'));
  }

  onRequestStart(flow: Flow): void {
    this.#flow = flow;
    if (this.ended) flow.abort(new Interrupted('signal'));
  }

  onResponseStart(_flow: Flow, status: number, headers: HeaderValues): void {
    this.#status = status;
    this.#headers = headers;
    if (status !== 200 || this.#settled) return;
    clearTimeout(this.#timer);
    this.#settled = true;
    this.#options.resolve({ status, headers, stream: this, refusal: undefined });
  }

  onResponseData(_flow: Flow, chunk: Buffer): void {
    if (this.#status !== 200) {
      this.#refusal.push(Buffer.from(chunk));
      return;
    }
    try {
      this.#lines.push(chunk);
    } catch (cause) {
      this.#stop(new Broken(`an event cannot be read: ${(cause as Error).message}`, { cause }));
      return;
    }
    this.#notify();
    if (this.#events.length > readAhead) this.#flow?.pause();
  }

  onResponseEnd(): void {
    const [status, headers] = [this.#status, this.#headers];
    if (status === 200) {
      this.#end(this.#lines.pending > 0 ? new Broken('the stream ended in the middle of an event') : undefined);
      return;
    }
    this.#end(undefined);
    if (this.#settled) return;
    this.#settled = true;
    const refusal = { status, headers, body: Buffer.concat(this.#refusal) };
    this.#options.resolve({ status, headers, stream: this, refusal });
  }

  onResponseError(_flow: Flow, error: Error): void {
    this.#end(error);
    if (this.#settled) return;
    this.#settled = true;
    this.#options.reject(new Lost(error, this.#flow !== undefined, this.#status !== 0));
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  #end(error: unknown): void {
    if (this.ended) return;
    this.ended = true;
    this.#failure = error;
    clearTimeout(this.#timer);
    this.#options.request.signal?.removeEventListener('abort', this.#onAbort);
    this.#notify();
  }

  #stop(error: Error): void {
    this.#end(error);
    if (!this.#settled) {
      this.#settled = true;
      this.#options.reject(error);
    }
    this.#flow?.abort(error);
  }

  readonly #onAbort = (): void => this.#stop(new Interrupted('signal'));
}
