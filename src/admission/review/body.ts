/**
 * Reads the body of a review, bounded in size, time and data rate. All bodies in memory are bounded together, because an
 * API server may send hundreds of large reviews at once. Only received bytes count: an announced length is a promise.
 */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

/** The largest body: object and oldObject, each up to the limit of etcd, plus the overhead of JSON. */
export const bodyLimitBytes = 7 * 1024 * 1024;

/** The smallest amount that a client must send each second until its body is complete. */
const leastBytesPerSecond = 16 * 1024;

/** The time limit for a body: no longer than the shortest `timeoutSeconds` of our webhooks, whatever the client asks for. */
const bodyLimitMilliseconds = 5_000;

/** Bodies up to this size may use all of the budget; larger ones leave a part of it to them. */
const smallBytes = 64 * 1024;

/** The memory budget for the bodies of all reviews that are not yet answered. */
interface Budget {
  share(): Share;
}

interface Share {
  /** Reserves the given number of bytes in total. It returns false if the budget is exhausted. */
  grow(bytes: number): boolean;
  /** Releases the reserved bytes once the review is answered. */
  release(): void;
}

export function startBudget(bytes: number): Budget {
  let taken = 0;
  const forLarge = bytes - bytes / 8;
  return {
    share() {
      let own = 0;
      return {
        grow(wanted) {
          if (wanted <= own) return true;
          if (taken + wanted - own > (wanted <= smallBytes ? bytes : forLarge)) return false;
          taken += wanted - own;
          own = wanted;
          return true;
        },
        release() {
          taken -= own;
          own = 0;
        },
      };
    },
  };
}

export function readBody(request: IncomingMessage, milliseconds: number, share: Share): Promise<string> {
  return new Promise((resolve, reject) => {
    const announced = Number(request.headers['content-length'] ?? 0);
    if (announced > bodyLimitBytes) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let length = 0;
    let settled = false;
    const settle = (finish: () => void) => {
      if (settled) return;
      settled = true;
      clearImmediate(soon);
      clearTimeout(late);
      clearInterval(pace);
      request.off('data', take);
      finish();
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > bodyLimitBytes) settle(() => reject(tooLarge()));
      else if (!share.grow(length)) {
        // At once: otherwise the bodies that arrive with it are refused too, until none is left.
        share.release();
        settle(() => reject(noRoom()));
        discardRest(request);
      }
    };
    const isLate = () =>
      settle(() => reject(new HttpError(408, 'The AdmissionReview was not received in time', { connection: 'close' })));
    // Most bodies arrive with their headers, so a timer is only started for the others.
    let late: NodeJS.Timeout | undefined;
    let pace: NodeJS.Timeout | undefined;
    let before = 0;
    const checkPace = () => {
      if (length - before < leastBytesPerSecond) isLate();
      before = length;
    };
    const soon = setImmediate(() => {
      late = setTimeout(isLate, Math.min(milliseconds, bodyLimitMilliseconds));
      pace = setInterval(checkPace, 1_000);
    });
    request.on('data', take);
    request.on('end', () => settle(() => resolve(textOf(chunks))));
    // A client that disconnects is not an error of the server.
    const brokeOff = () =>
      settle(() =>
        reject(
          new HttpError(400, 'The connection was closed before the AdmissionReview was complete', {
            connection: 'close',
          }),
        ),
      );
    request.on('error', brokeOff);
    request.on('close', brokeOff);
  });
}

/** Reads the rest of a body without keeping it, so that the connection can be reused; a client that is slow is disconnected. */
function discardRest(request: IncomingMessage): void {
  request.resume();
  const timer = setTimeout(() => request.destroy(), bodyLimitMilliseconds);
  request.once('close', () => clearTimeout(timer));
}

/** Joins the chunks. Most reviews arrive in a single chunk. */
const textOf = (chunks: readonly Buffer[]): string =>
  (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)).toString('utf8');

/** The error for an exhausted budget. The API server retries after a second. */
export const noRoom = (): HttpError =>
  new HttpError(429, 'Too many bytes of AdmissionReviews in flight; retry in a second', { 'retry-after': '1' });

/** The error for a body that is too large. The rest is not read; the connection is closed with the response. */
const tooLarge = (): HttpError =>
  new HttpError(413, `The AdmissionReview is larger than ${bodyLimitBytes} bytes`, { connection: 'close' });
