/** A watch: one long answer, a JSON event a line, given out as they come and held back when the reader is slow. */
import type { WatchEvent } from '../client/client.ts';
import { ConnectionError } from '../errors.ts';
import { statusError } from './answers.ts';
import type { Answer, Exchange, HeaderValues } from './exchange.ts';
import { Interrupted, Lost } from './exchange.ts';
import { abortError, connectionError } from './failures.ts';
import { splitLines } from './lines.ts';
import type { Call, Sender } from './send.ts';
import type { Dispatcher, Flow } from './wire/index.ts';

/** Events read ahead of the reader before the socket is told to wait. */
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
  const { mailbox } = opened;
  try {
    onOpen?.();
    for (;;) {
      const batch = mailbox.take();
      for (const event of batch) yield event;
      if (batch.length > 0) continue;
      if (mailbox.failure !== undefined) throw explain(mailbox.failure);
      if (mailbox.ended) return;
      await mailbox.more();
    }
  } finally {
    mailbox.abandon();
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

/** The stream ended or went wrong inside an event. */
class Broken extends Error {}

interface Mailbox<T> {
  readonly failure: unknown;
  readonly ended: boolean;
  take(): WatchEvent<T>[];
  more(): Promise<void>;
  abandon(): void;
}

interface Opened<T> {
  status: number;
  headers: HeaderValues;
  mailbox: Mailbox<T>;
  refusal: Answer | undefined;
}

/** Resolves with the headers of a stream, or with the whole answer of a refusal. */
function openStream<T>(
  dispatcher: Dispatcher,
  request: Exchange,
  deadline: number,
  maximumEventBytes: number,
): Promise<Opened<T>> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    let controller: Flow | undefined;
    let events: WatchEvent<T>[] = [];
    let wake: (() => void) | undefined;
    let failure: unknown;
    let ended = false;
    let settled = false;
    let status = 0;
    let headers: HeaderValues = {};
    const refusal: Buffer[] = [];

    const lines = splitLines(maximumEventBytes, (line) => events.push(JSON.parse(line) as WatchEvent<T>));
    const notify = () => {
      wake?.();
      wake = undefined;
    };
    const end = (error: unknown) => {
      if (ended) return;
      ended = true;
      failure = error;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      notify();
    };
    const stop = (error: Error) => {
      end(error);
      if (!settled) {
        settled = true;
        reject(error);
      }
      controller?.abort(error);
    };
    const onAbort = () => stop(new Interrupted('signal'));
    const timer = setTimeout(() => stop(new Interrupted('deadline')), Math.max(0, deadline - performance.now()));
    if (signal?.aborted === true) return onAbort();
    signal?.addEventListener('abort', onAbort);

    const mailbox: Mailbox<T> = {
      get failure() {
        return events.length === 0 ? failure : undefined;
      },
      get ended() {
        return ended;
      },
      take() {
        const taken = events;
        if (taken.length > 0) events = [];
        if (controller?.paused === true) controller.resume();
        return taken;
      },
      more: () =>
        new Promise((wakeUp) => {
          wake = wakeUp;
          if (events.length > 0 || ended) notify();
        }),
      abandon() {
        if (!ended) stop(new Interrupted('signal'));
      },
    };

    dispatcher.dispatch(
      { origin: request.origin, method: request.method, path: request.path, headers: request.headers },
      {
        onRequestStart(started) {
          controller = started;
          if (ended) started.abort(new Interrupted('signal'));
        },
        onResponseStart(_controller, code, received) {
          status = code;
          headers = received;
          if (code !== 200 || settled) return;
          clearTimeout(timer);
          settled = true;
          resolve({ status, headers, mailbox, refusal: undefined });
        },
        onResponseData(_controller, chunk) {
          if (status !== 200) {
            refusal.push(Buffer.from(chunk));
            return;
          }
          try {
            lines.push(chunk);
          } catch (cause) {
            stop(new Broken(`an event cannot be read: ${(cause as Error).message}`, { cause }));
            return;
          }
          notify();
          if (events.length > readAhead) controller?.pause();
        },
        onResponseEnd() {
          if (status === 200) {
            end(lines.pending > 0 ? new Broken('the stream ended in the middle of an event') : undefined);
            return;
          }
          end(undefined);
          if (settled) return;
          settled = true;
          resolve({ status, headers, mailbox, refusal: { status, headers, body: Buffer.concat(refusal) } });
        },
        onResponseError(_controller, error) {
          end(error);
          if (settled) return;
          settled = true;
          reject(new Lost(error, controller !== undefined, status !== 0));
        },
      },
    );
  });
}
