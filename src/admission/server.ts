/**
 * What the webhook answers over HTTP. Thin: it bounds what comes in, hands the review to the decision function, and answers
 * either an AdmissionReview with the uid of the request or a status of HTTP that says what was wrong with it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../runtime/index.ts';
import { type Decision, decide } from './gates.ts';
import { type AdmissionRequest, decodeReview, encodeReview } from './review.ts';

export interface AnswerOptions {
  log: Logger;
  /** Whether `/readyz` says so. */
  ready: () => boolean;
  /** The decision function; the gates' own unless a test brings another. */
  judge?: (request: AdmissionRequest) => Decision;
}

/** A review holds object and oldObject, each up to what etcd takes, and what JSON adds. */
export const bodyLimitBytes = 7 * 1024 * 1024;
/** An API server gives up after 30 s at the latest. */
const longestMilliseconds = 30_000;

export function answerAdmission(options: AnswerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      if (error instanceof Refusal) return refuse(response, error);
      // A bug of ours must never read as "allowed": the API server follows the failurePolicy on a 500.
      options.log.error('a review could not be answered', { error });
      refuse(response, new Refusal(500, 'The review could not be judged; the log of the webhook says why'));
    });
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, options: AnswerOptions): Promise<void> {
  const [pathname = '', query = ''] = (request.url ?? '').split('?', 2);
  switch (pathname) {
    case '/healthz':
      return sendText(response, 200, 'ok');
    case '/readyz':
      return options.ready() ? sendText(response, 200, 'ok') : sendText(response, 503, 'not ready');
    case '/mutate':
    case '/validate':
      return review(request, response, options, deadlineOf(new URLSearchParams(query).get('timeout')));
    default:
      throw new Refusal(404, `There is nothing at ${pathname.slice(0, 100)}; reviews go to /validate and /mutate`);
  }
}

async function review(
  request: IncomingMessage,
  response: ServerResponse,
  { judge = decide, log }: AnswerOptions,
  deadlineMilliseconds: number,
): Promise<void> {
  if (request.method !== 'POST') throw new Refusal(405, 'Send an AdmissionReview with POST', { allow: 'POST' });
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new Refusal(415, 'Send the AdmissionReview as application/json');
  const decoded = decodeReview(await readBody(request, deadlineMilliseconds));
  if ('unreadable' in decoded) throw new Refusal(decoded.unreadable.status, decoded.unreadable.message);
  const judged = judge(decoded.request);
  // A validating webhook may not change the object; the API server takes a patch from one for a fault.
  const decision = request.url?.startsWith('/mutate') ? judged : { ...judged, patches: [] };
  if (!decision.allowed) {
    const { operation, kind, namespace, name } = decoded.request;
    const codes = decision.violations.map(({ code }) => code);
    log.info('denied', { operation, kind: kind.kind, namespace, name, codes });
  }
  send(response, 200, 'application/json', encodeReview(decoded.request.uid, decision));
}

/** Stops reading as soon as it is too much or too late: the connection is closed with the answer. */
function readBody(request: IncomingMessage, deadlineMilliseconds: number): Promise<string> {
  const tooLarge = () =>
    new Refusal(413, `The AdmissionReview is larger than ${bodyLimitBytes} bytes`, { connection: 'close' });
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > bodyLimitBytes) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (finish: () => void) => {
      clearTimeout(late);
      request.off('data', take);
      finish();
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > bodyLimitBytes) settle(() => reject(tooLarge()));
    };
    const late = setTimeout(() => {
      settle(() => reject(new Refusal(408, 'The AdmissionReview did not arrive in time', { connection: 'close' })));
    }, deadlineMilliseconds);
    request.on('data', take);
    request.once('end', () => settle(() => resolve(Buffer.concat(chunks).toString('utf8'))));
    request.once('error', (error) => settle(() => reject(error)));
    request.once('close', () =>
      settle(() => reject(new Refusal(400, 'The AdmissionReview broke off', { connection: 'close' }))),
    );
  });
}

/** The API server says in the query how long it will wait: `?timeout=5s`, a duration of Go. */
export function deadlineOf(timeout: string | null): number {
  const parts = [...(timeout ?? '').matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const written = parts.map(([part]) => part).join('');
  if (timeout === null || timeout === '' || written !== timeout) return longestMilliseconds;
  const milliseconds = parts.reduce((sum, [, number, unit]) => sum + Number(number) * millisecondsIn(unit), 0);
  return Math.min(Math.max(milliseconds, 1), longestMilliseconds);
}

function millisecondsIn(unit: string | undefined): number {
  switch (unit) {
    case 'ms':
      return 1;
    case 's':
      return 1000;
    case 'm':
      return 60_000;
    default:
      return 3_600_000;
  }
}

class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.headers = headers;
  }
}

/** A metav1.Status: the API server and `curl` show its message. */
function refuse(response: ServerResponse, { status, message, headers }: Refusal): void {
  if (response.headersSent || response.destroyed) return;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code: status };
  send(response, status, 'application/json', JSON.stringify(body));
}

const sendText = (response: ServerResponse, status: number, text: string): void =>
  send(response, status, 'text/plain; charset=utf-8', text);

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
