/**
 * The HTTP handler of the webhook.
 *
 * It bounds the input, passes the review to the pipeline, and responds with an AdmissionReview or an HTTP error. An
 * internal error must never result in "allowed": it is a 500, and the API server applies the failurePolicy.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../runtime/index.ts';
import type { AnswerPost, Caller, MetricsAccess, PostAnswer } from '../../runtime/internal.ts';
import { timeoutSeconds } from '../configuration/build.ts';
import { gatePath, gateTimeoutSeconds } from '../configuration/crd-webhook.ts';
import type { Phase } from '../gates/gate.ts';
import { noRoom, readBody, startBudget } from '../review/body.ts';
import { deadlineIn, timeoutIn } from '../review/deadline.ts';
import { HttpError } from '../review/http-error.ts';
import { type Answered, type AskedFor, answerReview, type EvaluationOptions } from './evaluate.ts';
import type { AdmissionMetrics } from './metrics.ts';

interface AnswerOptions extends EvaluationOptions {
  /** Reports the result of `/readyz`. */
  readonly ready: () => boolean;
  readonly metrics?: AdmissionMetrics | undefined;
  /** Who may read `/metrics`. Without it everyone may: for a webhook without a cluster. */
  readonly metricsAccess?: MetricsAccess | undefined;
  /** Whether only reviews of trusted callers are answered. */
  readonly authenticates?: boolean | undefined;
  /** The maximum number of reviews in flight. Further reviews get a 429 and are retried. */
  readonly mostInFlight?: number | undefined;
  /** The maximum number of bytes of their bodies. */
  readonly mostBytes?: number | undefined;
}

/** An API server has a few hundred requests in flight at most. */
const mostInFlightByDefault = 400;
/** Enough for nine reviews of the largest size, or for thousands of the usual size. */
const mostBytesByDefault = 64 * 1024 * 1024;

interface Webhook extends AskedFor {
  /** The longest time that a review may take, whatever its caller asks for. */
  readonly longestMilliseconds: number;
}

/** The paths of the webhooks. */
const webhooks = new Map<string, Webhook>([
  ...at('/mutate', 'mutate', ['', '/policies', '/fail-again', '/ignore-again']),
  ...at('/mutate', 'mutate-once', ['/fail', '/ignore']),
  ...at('/validate', 'validate', ['', '/policies', '/fail', '/ignore', '/namespaces']),
  ...at('/validate', 'validate', [gatePath], gateTimeoutSeconds),
]);

function at(verb: string, phase: Phase, paths: readonly string[], seconds = timeoutSeconds): [string, Webhook][] {
  return paths.map((path) => [`${verb}${path}`, { phase, longestMilliseconds: seconds * 1000 }]);
}

/**
 * Resolves a path: `/validate/fail`, or `/validate/fail/converted/v1.autoscaling` for requests that are also sent in
 * another version.
 */
function askedAt(pathname: string): Webhook | undefined {
  const known = webhooks.get(pathname);
  if (known !== undefined) return known;
  const [path = '', below] = pathname.split('/converted', 2);
  const asked = webhooks.get(path);
  if (asked === undefined || below === undefined || !/^(?:\/[a-z0-9.-]+)*$/.test(below)) return undefined;
  return { ...asked, elsewhere: below.split('/').slice(1) };
}

interface Answers {
  readonly answer: (request: IncomingMessage, response: ServerResponse, caller: Caller) => void;
  /** Answers a review whose body is already read; undefined for other paths. */
  readonly answerPost: AnswerPost;
}

export function answerAdmission(options: AnswerOptions): Answers {
  const reviews = startReviews(options);
  return {
    answer(request, response, caller) {
      const [pathname = '', query = ''] = (request.url ?? '').split('?', 2);
      const asked = askedAt(pathname);
      if (asked !== undefined && mustRefuse(caller, options)) {
        refuse(response, unauthenticated(caller));
        return;
      }
      const answered =
        asked === undefined
          ? other(pathname, request.headers.authorization, response, options)
          : reviews.read(request, response, { ...asked, caller }, query);
      answered.catch((error: unknown) => refuse(response, httpErrorOf(error, options.log)));
    },
    answerPost(target, body, caller) {
      const [pathname = '', query = ''] = target.split('?', 2);
      const asked = askedAt(pathname);
      if (asked !== undefined && mustRefuse(caller, options)) return unauthenticated(caller);
      return asked === undefined ? undefined : reviews.answer(body, { ...asked, caller }, query);
    },
  };
}

const rendering = new WeakMap<AdmissionMetrics, Promise<string>>();

/** Requests at the same time share one text: rendering it takes longer than a review. */
function metricsText(metrics: AdmissionMetrics): Promise<string> {
  const started = rendering.get(metrics) ?? metrics.text().finally(() => rendering.delete(metrics));
  rendering.set(metrics, started);
  return started;
}

async function other(
  pathname: string,
  authorization: string | undefined,
  response: ServerResponse,
  options: AnswerOptions,
): Promise<void> {
  switch (pathname) {
    case '/healthz':
      return sendText(response, 200, 'ok');
    case '/readyz':
      return options.ready() ? sendText(response, 200, 'ok') : sendText(response, 503, 'not ready');
    case '/metrics':
      if (options.metrics === undefined) break;
      await demandAccess(authorization, options);
      return send(response, 200, options.metrics.contentType, await metricsText(options.metrics));
    default:
  }
  throw new HttpError(404, `Not found: ${pathname.slice(0, 100)}; send AdmissionReviews to /validate or /mutate`);
}

async function demandAccess(authorization: string | undefined, { metricsAccess }: AnswerOptions): Promise<void> {
  const refusal = await metricsAccess?.(authorization);
  if (refusal !== undefined) throw new HttpError(refusal.status, refusal.message, refusal.headers);
}

interface Reviews {
  /** Reads and answers a review over the HTTP server of Node. */
  read(request: IncomingMessage, response: ServerResponse, asked: Webhook, query: string): Promise<void>;
  /** Answers a review whose body is already read. It is synchronous if no lookup is needed. */
  answer(text: string, asked: Webhook, query: string): PostAnswer | Promise<PostAnswer>;
}

function startReviews(options: AnswerOptions): Reviews {
  const { log, metrics, mostInFlight = mostInFlightByDefault } = options;
  const budget = startBudget(options.mostBytes ?? mostBytesByDefault);
  let reviewsInFlight = 0;
  let evaluating = 0;
  const begin = ({ phase }: AskedFor) => {
    const started = performance.now();
    const share = budget.share();
    let isEntered = false;
    reviewsInFlight += 1;
    metrics?.inFlight(reviewsInFlight);
    return {
      share,
      /** Counts the review among those in evaluation, unless there are too many. Those that still arrive do not count. */
      enter() {
        if (evaluating >= mostInFlight) throw tooMany();
        evaluating += 1;
        isEntered = true;
      },
      end(result: 'allowed' | 'denied' | 'error') {
        share.release();
        if (isEntered) evaluating -= 1;
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
        const deadline = deadlineIn(timeoutIn(query, asked.longestMilliseconds));
        const text = await readBody(request, deadline.at - Date.now(), flight.share);
        flight.enter();
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
        if (!flight.share.grow(text.length)) throw noRoom();
        flight.enter();
        answer = answerReview(text, asked, deadlineIn(timeoutIn(query, asked.longestMilliseconds)), options);
      } catch (error) {
        return failed(error);
      }
      return answer instanceof Promise ? answer.then(answered, failed) : answered(answer);
    },
  };
}

function checkRequest({ method, headers }: IncomingMessage): void {
  if (method !== 'POST') throw new HttpError(405, 'Send the AdmissionReview with POST', { allow: 'POST' });
  const type = headers['content-type'];
  if (type === 'application/json') return;
  if (type?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw new HttpError(415, 'Send the AdmissionReview as application/json');
}

const mustRefuse = ({ trusted }: Caller, { authenticates = false }: AnswerOptions): boolean =>
  authenticates && !trusted;

/** The error for a caller that is not the API server. The body is not read; the connection is closed with the response. */
const unauthenticated = ({ presented }: Caller): HttpError =>
  presented
    ? new HttpError(403, 'The client certificate is not accepted', { connection: 'close' })
    : new HttpError(401, 'A client certificate is required', { connection: 'close' });

/** The error for too many reviews. The API server retries after the given time. */
const tooMany = (): HttpError =>
  new HttpError(429, 'Too many AdmissionReviews in flight; retry in a second', { 'retry-after': '1' });

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
