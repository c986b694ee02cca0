/** The body of a review, bounded in size and time: it stops reading as soon as it is too much or too late. */
import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

/** A review holds object and oldObject, each up to what etcd takes, and what JSON adds. */
export const bodyLimitBytes = 7 * 1024 * 1024;

export function readBody(request: IncomingMessage, milliseconds: number): Promise<string> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > bodyLimitBytes) return reject(tooLarge());
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
    };
    const isLate = () =>
      settle(() => reject(new Refusal(408, 'The AdmissionReview did not arrive in time', { connection: 'close' })));
    // Most bodies are there with their headers: a timer only for those that are not.
    let late: NodeJS.Timeout | undefined;
    const soon = setImmediate(() => {
      late = setTimeout(isLate, milliseconds);
    });
    request.on('data', take);
    request.on('end', () => settle(() => resolve(textOf(chunks))));
    request.on('error', (error) => settle(() => reject(error)));
    request.on('close', () =>
      settle(() => reject(new Refusal(400, 'The AdmissionReview broke off', { connection: 'close' }))),
    );
  });
}

/** Most reviews come in one piece. */
const textOf = (chunks: readonly Buffer[]): string =>
  (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)).toString('utf8');

/** What is left of the body is not read: the connection is closed with the answer. */
const tooLarge = (): Refusal =>
  new Refusal(413, `The AdmissionReview is larger than ${bodyLimitBytes} bytes`, { connection: 'close' });
