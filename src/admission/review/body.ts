/**
 * The body of a review, bounded in size and time: it stops reading as soon as it is too much or too late. All bodies that are held at
 * once are bounded together: an API server may send hundreds of reviews of megabytes at a time.
 */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

/** A review holds object and oldObject, each up to what etcd takes, and what JSON adds. */
export const bodyLimitBytes = 7 * 1024 * 1024;

/** What the bodies of all reviews may take together, until each is answered. */
interface Budget {
  share(): Share;
}

interface Share {
  /** Makes room for so many bytes in all; false where there is none. */
  grow(bytes: number): boolean;
  /** Once it is answered. */
  release(): void;
}

export function startBudget(bytes: number): Budget {
  let taken = 0;
  return {
    share() {
      let own = 0;
      return {
        grow(wanted) {
          if (wanted <= own) return true;
          if (taken + wanted - own > bytes) return false;
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
    if (!share.grow(announced)) {
      // What it has sent is read and let go, so that the connection can be used again.
      request.resume();
      return reject(noRoom());
    }
    const chunks: Buffer[] = [];
    let length = 0;
    let settled = false;
    const settle = (finish: () => void) => {
      if (settled) return;
      settled = true;
      clearImmediate(soon);
      clearTimeout(late);
      request.off('data', take);
      finish();
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > bodyLimitBytes) settle(() => reject(tooLarge()));
      else if (!share.grow(length)) {
        settle(() => reject(noRoom()));
        request.resume();
      }
    };
    const isLate = () =>
      settle(() => reject(new HttpError(408, 'The AdmissionReview did not arrive in time', { connection: 'close' })));
    // Most bodies are there with their headers: a timer only for those that are not.
    let late: NodeJS.Timeout | undefined;
    const soon = setImmediate(() => {
      late = setTimeout(isLate, milliseconds);
    });
    request.on('data', take);
    request.on('end', () => settle(() => resolve(textOf(chunks))));
    // Whoever goes away in the middle of a review is no fault of ours.
    const brokeOff = () =>
      settle(() => reject(new HttpError(400, 'The AdmissionReview broke off', { connection: 'close' })));
    request.on('error', brokeOff);
    request.on('close', brokeOff);
  });
}

/** Most reviews come in one piece. */
const textOf = (chunks: readonly Buffer[]): string =>
  (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)).toString('utf8');

/** It comes again when others have been answered. */
export const noRoom = (): HttpError =>
  new HttpError(429, 'Too many bytes of reviews at once; come again in a second', { 'retry-after': '1' });

/** What is left of the body is not read: the connection is closed with the answer. */
const tooLarge = (): HttpError =>
  new HttpError(413, `The AdmissionReview is larger than ${bodyLimitBytes} bytes`, { connection: 'close' });
