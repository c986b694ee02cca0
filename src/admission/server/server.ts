/**
 * The HTTP handler of the webhook.
 *
 * It bounds the input, passes the review to the pipeline, and responds with an AdmissionReview or an HTTP error. An
 * internal error must never result in "allowed": it is a 500, and the API server applies the failurePolicy.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../runtime/index.ts';
import type { AnswerPost, PostAnswer } from '../../runtime/internal.ts';
import type { Phase } from '../gates/gate.ts';
import type { Observer } from '../gates/observer.ts';
import type { Pipeline } from '../gates/pipeline.ts';
import { noRoom, readBody, startBudget } from '../review/body.ts';
import type { Deadline } from '../review/deadline.ts';
import { deadlineIn, timeoutIn } from '../review/deadline.ts';
import { decodeReview } from '../review/decode.ts';
import { encodeReview } from '../review/encode.ts';
import type { Decision } from '../review/findings.ts';
import { HttpError } from '../review/http-error.ts';
import { logAdmitted, logDenied } from './decision-log.ts';
import type { AdmissionMetrics } from './metrics.ts';

interface AnswerOptions {
  readonly log: Logger;
  readonly pipeline: Pipeline;
  /** Reports the result of `/readyz`. */
  readonly ready: () => boolean;
  /** Reports whether the caches are synced. Earlier reviews wait for that. */
  readonly synced?: () => boolean;
  readonly metrics?: AdmissionMetrics | undefined;
  readonly observer?: Observer | undefined;
  /** The maximum number of reviews in flight. Further reviews get a 429 and are retried. */
  readonly mostInFlight?: number | undefined;
  /** The maximum number of bytes of their bodies. */
  readonly mostBytes?: number | undefined;
}

/** An API server has a few hundred requests in flight at most. */
const mostInFlightByDefault = 400;
/** Enough for nine reviews of the largest size, or for thousands of the usual size. */
const mostBytesByDefault = 64 * 1024 * 1024;
const syncPollMilliseconds = 20;

/** The purpose of a webhook path. */
interface AskedFor {
  readonly phase: Phase;
  /** For converted requests: the other versions in which the request is sent. */
  readonly elsewhere?: readonly string[];
}

/** The paths of the webhooks. */
const webhooks = new Map<string, AskedFor>([
  ...at('/mutate', 'mutate', ['', '/policies', '/fail-again', '/ignore-again']),
  ...at('/mutate', 'mutate-once', ['/fail', '/ignore']),
  ...at('/validate', 'validate', ['', '/policies', '/fail', '/ignore', '/crds', '/namespaces']),
]);

function at(verb: string, phase: Phase, paths: readonly string[]): [string, AskedFor][] {
  return paths.map((path) => [`${verb}${path}`, { phase }]);
}

/**
 * Resolves a path: `/validate/fail`, or `/validate/fail/converted/v1.autoscaling` for requests that are also sent in
 * another version.
 */
function askedAt(pathname: string): AskedFor | undefined {
  const known = webhooks.get(pathname);
  if (known !== undefined) return known;
  const [path = '', below] = pathname.split('/converted', 2);
  const asked = webhooks.get(path);
  if (asked === undefined || below === undefined || !/^(?:\/[a-z0-9.-]+)*$/.test(below)) return undefined;
  return { ...asked, elsewhere: below.split('/').slice(1) };
}

interface Answers {
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers a review whose body is already read; undefined for other paths. */
  readonly answerPost: AnswerPost;
}

export function answerAdmission(options: AnswerOptions): Answers {
  const reviews = startReviews(options);
  return {
    answer(request, response) {
      const [pathname = '', query = ''] = (request.url ?? '').split('?', 2);
      const asked = askedAt(pathname);
      const answered =
        asked === undefined ? other(pathname, response, options) : reviews.read(request, response, asked, query);
      answered.catch((error: unknown) => refuse(response, httpErrorOf(error, options.log)));
    },
    answerPost(target, body) {
      const [pathname = '', query = ''] = target.split('?', 2);
      const asked = askedAt(pathname);
      return asked === undefined ? undefined : reviews.answer(body, asked, query);
    },
  };
}

async function other(pathname: string, response: ServerResponse, options: AnswerOptions): Promise<void> {
  switch (pathname) {
    case '/healthz':
      return sendText(response, 200, 'ok');
    case '/readyz':
      return options.ready() ? sendText(response, 200, 'ok') : sendText(response, 503, 'not ready');
    case '/metrics':
      if (options.metrics === undefined) break;
      return send(response, 200, options.metrics.contentType, await options.metrics.text());
    default:
  }
  throw new HttpError(404, `Not found: ${pathname.slice(0, 100)}; send AdmissionReviews to /validate or /mutate`);
}

interface Reviews {
  /** Reads and answers a review over the HTTP server of Node. */
  read(request: IncomingMessage, response: ServerResponse, asked: AskedFor, query: string): Promise<void>;
  /** Answers a review whose body is already read. It is synchronous if no lookup is needed. */
  answer(text: string, asked: AskedFor, query: string): PostAnswer | Promise<PostAnswer>;
}

function startReviews(options: AnswerOptions): Reviews {
  const { log, metrics, mostInFlight = mostInFlightByDefault } = options;
  const budget = startBudget(options.mostBytes ?? mostBytesByDefault);
  let reviewsInFlight = 0;
  const begin = ({ phase }: AskedFor) => {
    const started = performance.now();
    const share = budget.share();
    reviewsInFlight += 1;
    metrics?.inFlight(reviewsInFlight);
    return {
      share,
      isOverLimit: reviewsInFlight > mostInFlight,
      end(result: 'allowed' | 'denied' | 'error') {
        share.release();
        reviewsInFlight -= 1;
        metrics?.inFlight(reviewsInFlight);
        metrics?.answered(phase, result, (performance.now() - started) / 1000);
      },
    };
  };
  return {
    async read(request, response, asked, query) {
      const flight = begin(asked);
      let result: 'allowed' | 'denied' | 'error' = 'error';
      try {
        checkRequest(request);
        if (flight.isOverLimit) {
          request.resume();
          throw tooMany();
        }
        const deadline = deadlineIn(timeoutIn(query));
        const text = await readBody(request, deadline.at - Date.now(), flight.share);
        const { allowed, body } = await answerReview(text, asked, deadline, options);
        result = allowed ? 'allowed' : 'denied';
        send(response, 200, 'application/json', body);
      } catch (error) {
        refuse(response, httpErrorOf(error, log));
      } finally {
        flight.end(result);
      }
    },
    answer(text, asked, query) {
      const flight = begin(asked);
      const answered = ({ allowed, body }: Answered): PostAnswer => {
        flight.end(allowed ? 'allowed' : 'denied');
        return { status: 200, body };
      };
      const failed = (error: unknown): PostAnswer => {
        flight.end('error');
        return httpErrorOf(error, log);
      };
      let answer: Answered | Promise<Answered>;
      try {
        if (flight.isOverLimit) throw tooMany();
        if (!flight.share.grow(text.length)) throw noRoom();
        answer = answerReview(text, asked, deadlineIn(timeoutIn(query)), options);
      } catch (error) {
        return failed(error);
      }
      return answer instanceof Promise ? answer.then(answered, failed) : answered(answer);
    },
  };
}

interface Answered {
  readonly allowed: boolean;
  readonly body: string;
}

/**
 * `answerReview` evaluates the text of a review. It is synchronous if no lookup is needed. A review that cannot be
 * evaluated is thrown as an `HttpError`; any other error is a bug.
 */
export function answerReview(
  text: string,
  { phase, elsewhere }: AskedFor,
  deadline: Deadline,
  options: Pick<AnswerOptions, 'pipeline' | 'log' | 'synced' | 'observer'>,
): Answered | Promise<Answered> {
  const decoded = decodeReview(text);
  if ('unreadable' in decoded) throw new HttpError(decoded.unreadable.status, decoded.unreadable.message);
  const { request } = decoded;
  const evaluate = () => options.pipeline(request, phase, deadline, elsewhere);
  const answer = (decision: Decision): Answered => {
    if (!decision.allowed) logDenied(request, decision, options);
    else if (phase === 'validate' && elsewhere === undefined) logAdmitted(request, options.log);
    return { allowed: decision.allowed, body: encodeReview(request.uid, decision) };
  };
  if (options.synced?.() === false) {
    const evaluated = untilSynced(options.synced, deadline).then(evaluate);
    return beforeDeadline(evaluated, deadline).then(answer);
  }
  const evaluated = evaluate();
  return evaluated instanceof Promise ? beforeDeadline(evaluated, deadline).then(answer) : answer(evaluated);
}

function checkRequest({ method, headers }: IncomingMessage): void {
  if (method !== 'POST') throw new HttpError(405, 'Send the AdmissionReview with POST', { allow: 'POST' });
  const type = headers['content-type'];
  if (type === 'application/json') return;
  if (type?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw new HttpError(415, 'Send the AdmissionReview as application/json');
}

/** The error for too many reviews. The API server retries after the given time. */
const tooMany = (): HttpError =>
  new HttpError(429, 'Too many AdmissionReviews in flight; retry in a second', { 'retry-after': '1' });

/** Waits for the caches. Before that no policy would match, and "allowed" would be wrong. */
async function untilSynced(synced: () => boolean, { at }: Deadline): Promise<void> {
  while (!synced()) {
    if (Date.now() + syncPollMilliseconds >= at) {
      throw new HttpError(503, 'Policies are not synced yet; retry in a second', { 'retry-after': '1' });
    }
    await sleep(syncPollMilliseconds);
  }
}

async function beforeDeadline(evaluated: Promise<Decision>, { at }: Deadline): Promise<Decision> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const timeout = new HttpError(504, 'The review was not evaluated before the timeout of the API server');
    timer = setTimeout(() => reject(timeout), Math.max(1, at - Date.now()));
  });
  try {
    return await Promise.race([evaluated, late]);
  } finally {
    clearTimeout(timer);
  }
}

function httpErrorOf(error: unknown, log: Logger): HttpError {
  if (error instanceof HttpError) return error;
  log.error('evaluating a review failed', { error });
  return new HttpError(500, 'The review could not be evaluated; see the log of the webhook');
}

function refuse(response: ServerResponse, { status, headers, body }: HttpError): void {
  if (response.headersSent || response.destroyed) return;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  send(response, status, 'application/json', body);
}

const sendText = (response: ServerResponse, status: number, text: string): void =>
  send(response, status, 'text/plain; charset=utf-8', text);

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
