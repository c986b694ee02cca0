/**
 * One write in two steps, for a caller whose right to write ends (see `Fence`): first the headers, with the remaining
 * time; then the body, once the server has acknowledged the headers (`100 Continue`) and if the caller still has the
 * right.
 *
 * This is sufficient because the API server counts `timeout` from the arrival of the headers, and answers a request
 * whose body arrives after the timeout with 504, without changing anything. The acknowledgement proves that the timeout
 * started before the second check, so a body that is late (the process was stopped, the network delayed it) arrives
 * after the timeout.
 */
import type { Fence } from '../client/client.ts';
import { ConnectionError, FenceError } from '../errors.ts';
import { type Answer, type Exchange, Interrupted, Lost } from './exchange.ts';
import { sizeFailure } from './failures.ts';
import type { Flow, HeaderValues, HoldingDispatcher } from './wire/index.ts';

/** The time limit for the acknowledgement, by which the timeout of the server is reduced. */
const longestAcknowledgement = 4_000;

export function fencedExchange(
  dispatcher: HoldingDispatcher,
  request: Exchange,
  deadline: number,
  fence: Fence,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let flow: Flow | undefined;
    let begun = 0;
    let acknowledgement = 0;
    let acknowledgementTimer: NodeJS.Timeout | undefined;
    let sent = false;
    let finished = false;
    let status = 0;
    let headers: HeaderValues = {};
    const chunks: Buffer[] = [];
    let size = 0;

    const finish = () => {
      finished = true;
      clearTimeout(timer);
      clearTimeout(acknowledgementTimer);
      for (const signal of [request.signal, fence.signal]) signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: Error) => {
      if (finished) return;
      finish();
      reject(error);
      flow?.abort(error);
    };
    const onAbort = () => fail(!sent && fence.signal.aborted ? fallen(fence) : new Interrupted('signal'));
    const timer = setTimeout(() => fail(new Interrupted('deadline')), Math.max(0, deadline - performance.now()));
    for (const signal of [request.signal, fence.signal]) {
      if (signal?.aborted === true) return onAbort();
      signal?.addEventListener('abort', onAbort);
    }

    /** Computed when there is a connection, so that the server gets the time that remains after waiting for one. */
    const begin = (): string => {
      const remaining = fence.remainingMilliseconds();
      begun = performance.now();
      acknowledgement = Math.min(longestAcknowledgement, remaining / 2);
      const serverTimeout = Math.floor(remaining - acknowledgement);
      // The API server reads a timeout of 0 as none at all.
      if (serverTimeout < 1) throw fallen(fence);
      return `${request.path}${request.path.includes('?') ? '&' : '?'}timeout=${serverTimeout}ms`;
    };
    dispatcher.dispatchHeld(
      {
        origin: request.origin,
        method: request.method,
        path: begin,
        headers: request.headers,
        body: Buffer.from(request.body ?? ''),
      },
      {
        onRequestStart(started) {
          flow = started;
          if (finished) return started.abort(new Interrupted('signal'));
          acknowledgementTimer = setTimeout(() => fail(unacknowledged(request, acknowledgement)), acknowledgement);
          request.onSent?.();
        },
        onContinue() {
          if (finished) return false;
          clearTimeout(acknowledgementTimer);
          // Timers do not fire while a process is stopped, so their condition is checked again here.
          if (performance.now() - begun > acknowledgement) fail(unacknowledged(request, acknowledgement));
          else if (fence.remainingMilliseconds() <= 0) fail(fallen(fence));
          else sent = true;
          return sent;
        },
        onResponseStart(_flow, code, received) {
          clearTimeout(acknowledgementTimer);
          status = code;
          headers = received;
        },
        onResponseData(_flow, chunk) {
          if (finished) return;
          size += chunk.length;
          if (size <= request.maximumResponseBytes) chunks.push(Buffer.from(chunk));
          else fail(new Lost(tooLarge(request.maximumResponseBytes), sent, true));
        },
        onResponseEnd() {
          if (finished) return;
          finish();
          resolve({ status, headers, body: Buffer.concat(chunks, size) });
        },
        onResponseError(_flow, error) {
          if (finished) return;
          finish();
          reject(error instanceof FenceError ? error : new Lost(error, sent, status !== 0));
        },
      },
    );
  });
}

/** The error for a missing acknowledgement. Nothing was written, because the body was not sent. */
function unacknowledged({ method, path }: Exchange, milliseconds: number): ConnectionError {
  return new ConnectionError({
    doing: `${method} ${path}`,
    failure: 'timeout',
    message: `the server did not answer the headers of a fenced write with 100 Continue within ${Math.round(milliseconds)} ms`,
    hint: 'It is overloaded, or a proxy on the way does not pass "Expect: 100-continue" on',
  });
}

function fallen(fence: Fence): FenceError {
  return fence.signal.reason instanceof FenceError
    ? fence.signal.reason
    : new FenceError('the right to write has ended');
}

const tooLarge = (maximumBytes: number) =>
  Object.assign(new Error(`the answer is larger than ${maximumBytes} bytes`), { code: sizeFailure });
