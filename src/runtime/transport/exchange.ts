/** One request and its whole answer over a pool: with a deadline that covers the body, an abort signal and a bound on size. */
import { sizeFailure } from './failures.ts';
import { isPacked, type Unpacker, unpack, unpackWhole } from './unpack.ts';
import type { Dispatcher, Flow, HeaderValues } from './wire/index.ts';

export type { HeaderValues };

export interface Exchange {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
  readonly maximumResponseBytes: number;
  /** Takes the body of a 200 as it comes, unpacked, in place of the answer. What it throws ends the exchange. */
  readonly sink?: ((chunk: Buffer) => void) | undefined;
  /** Told when it goes out on a connection. */
  readonly onSent?: (() => void) | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: HeaderValues;
  readonly body: Buffer;
}

/** Thrown by `exchange` in place of the pool's error where the deadline passed or the signal fired. */
export class Interrupted extends Error {
  readonly by: 'deadline' | 'signal';
  constructor(by: 'deadline' | 'signal') {
    super(`interrupted by the ${by}`);
    this.by = by;
  }
}

/** Carries the pool's error, unclassified, and how far the request had come: on the wire, and answered with a first byte. */
export class Lost extends Error {
  readonly sent: boolean;
  readonly answered: boolean;
  constructor(cause: unknown, sent: boolean, answered: boolean) {
    super('no whole answer', { cause });
    this.sent = sent;
    this.answered = answered;
  }
}

export function exchange(dispatcher: Dispatcher, request: Exchange, deadline: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { signal, sink } = request;
    let controller: Flow | undefined;
    let finished = false;
    let status = 0;
    let headers: HeaderValues = {};
    let chunks: Buffer[] = [];
    let size = 0;
    let unpacker: Unpacker | undefined;

    const finish = () => {
      finished = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const interrupt = (error: Error) => {
      if (finished) return;
      finish();
      unpacker?.abandon();
      reject(error);
      controller?.abort(error);
    };
    const answer = () => {
      if (finished) return;
      const [only] = chunks;
      let body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size);
      chunks = [];
      try {
        if (unpacker === undefined && isPacked(headers) && size > 0)
          body = unpackWhole(body, request.maximumResponseBytes);
      } catch (error) {
        interrupt(new Lost(error, true, true));
        return;
      }
      finish();
      resolve({ status, headers, body });
    };
    const onAbort = () => interrupt(new Interrupted('signal'));
    const timer = setTimeout(() => interrupt(new Interrupted('deadline')), Math.max(0, deadline - performance.now()));
    if (signal?.aborted === true) return onAbort();
    signal?.addEventListener('abort', onAbort);

    dispatcher.dispatch(
      {
        origin: request.origin,
        method: request.method,
        path: request.path,
        headers: request.headers,
        body: request.body ?? null,
      },
      {
        onRequestStart(started) {
          controller = started;
          if (finished) started.abort(new Interrupted('signal'));
          else request.onSent?.();
        },
        onResponseStart(_controller, code, received) {
          status = code;
          headers = received;
          if (sink === undefined || code !== 200 || !isPacked(received)) return;
          unpacker = unpack({
            sink,
            onDrain: () => controller?.resume(),
            onEnd: answer,
            onError: (error) => interrupt(new Lost(error, true, true)),
          });
        },
        onResponseData(_controller, chunk) {
          if (finished) return;
          if (unpacker !== undefined) {
            if (!unpacker.write(chunk)) controller?.pause();
            return;
          }
          if (sink !== undefined && status === 200) {
            try {
              sink(chunk);
            } catch (error) {
              interrupt(new Lost(error, true, true));
            }
            return;
          }
          size += chunk.length;
          if (size > request.maximumResponseBytes) {
            const error = Object.assign(new Error(`the answer is larger than ${request.maximumResponseBytes} bytes`), {
              code: sizeFailure,
            });
            interrupt(new Lost(error, true, true));
            return;
          }
          chunks.push(Buffer.from(chunk));
        },
        onResponseEnd() {
          if (finished) return;
          if (unpacker === undefined) answer();
          else unpacker.end();
        },
        onResponseError(_controller, error) {
          if (finished) return;
          finish();
          unpacker?.abandon();
          reject(new Lost(error, controller !== undefined, status !== 0));
        },
      },
    );
  });
}
