/**
 * The status API (docs/requirements.md, 000): brokers report here if they do not use Kafka. The sender is verified
 * before the body is read; then the sink decides.
 */

import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { type Clock, type Logger, systemClock } from '../../runtime/index.ts';
import {
  type ListenerLimits,
  listen,
  type MadeApp,
  makeApp,
  Problem,
  parseStrictly,
  retryAfter,
  type Served,
  type ServingCertificate,
} from '../../runtime/internal.ts';
import { formatTraceparent, parseTraceparent, type TraceParent } from '../contract/index.ts';
import { type BrokerVerifier, IdentityError, STATUS_SCOPE } from '../identity/index.ts';
import type { BrokerEvent } from '../messages.ts';
import { reportMetrics, reportTaker } from '../reports/index.ts';
import type { ReportSink, VerifiedBroker } from '../sink.ts';
import { parseEvents, receiveAll, responseFor, withTimeout } from './batch.ts';
import { openApi } from './openapi.ts';
import { problemOf, unsupported } from './problem.ts';
import { limiter, type RateLimit } from './rate-limit.ts';

export interface StatusApiOptions {
  readonly host?: string;
  /** Default: 0, any free port. */
  readonly port?: number;
  /** Without it the API serves plain HTTP: behind a proxy that terminates TLS, or on one machine. */
  readonly tls?: ServingCertificate | undefined;
  readonly verifier: BrokerVerifier;
  readonly sink: ReportSink;
  /** The platform's public keys (`keyRing.jwks`), with which brokers verify requests. */
  readonly jwks: () => object;
  /** The rate limit of a Broker; undefined means the default. */
  readonly rateLimit?: (broker: string) => RateLimit | undefined;
  readonly registry: Registry;
  readonly log: Logger;
  /** Whether reports are accepted: the Brokers are known. Until then brokers are asked to retry. */
  readonly ready?: () => boolean;
  readonly clock?: Clock;
  readonly limits?: Partial<ListenerLimits>;
  /** The time limit of the sink for one request. Default: 20 s. */
  readonly sinkMilliseconds?: number;
}

/** The running API. Reports go to `/v1/status` below its address. */
export type StatusApi = Served;

const maxBytes = 1024 * 1024;
const jsonTypes = ['application/cloudevents+json', 'application/cloudevents-batch+json', 'application/json'] as const;

export async function startStatusApi(options: StatusApiOptions): Promise<StatusApi> {
  const { host = '127.0.0.1', port = 0, tls } = options;
  return listen(makeStatusApi(options), { host, port, tls, what });
}

const what = 'the status API';

/** Builds the application without listening. */
export function makeStatusApi(options: StatusApiOptions): MadeApp {
  const { tls, limits, log } = options;
  const made = makeApp((given) => fastify(given), { what, tls, limits, mostBytes: maxBytes, problemOf, log });
  addReportRoute(made.app, options);
  addInfoRoutes(made.app, options, () => !made.isDraining() && (options.ready?.() ?? true));
  return made;
}

/** The verified sender of each request. */
const brokers = new WeakMap<FastifyRequest, VerifiedBroker>();

function addReportRoute(app: FastifyInstance, options: StatusApiOptions): void {
  const { verifier, registry, clock = systemClock, sinkMilliseconds = 20_000 } = options;
  const metrics = reportMetrics(registry);
  const take = reportTaker({ ...options, metrics });
  const limits = limiter(options.rateLimit ?? (() => undefined), clock);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser([...jsonTypes], { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => {
    const parsed = parseStrictly(body);
    if ('value' in parsed) return parsed.value;
    metrics.rejected('HTTP', 'malformed');
    throw new Problem(400, 'malformed', `the body cannot be parsed: ${parsed.problem}`);
  });

  app.post('/v1/status', {
    async onRequest(request, reply) {
      // Before the Brokers are known, no sender can be verified.
      if (options.ready?.() === false) {
        throw new Problem(503, 'not-ready', 'the platform is starting: send it again', { headers: retryAfter(2000) });
      }
      const from = await verifier.token(bearerOf(request), STATUS_SCOPE).catch((error: unknown) => {
        if (error instanceof IdentityError) metrics.rejected('HTTP', error.reason);
        throw error;
      });
      const leave = limits.acquire(from.name);
      // A closed connection emits no further `close` event.
      if (reply.raw.destroyed) leave();
      else reply.raw.once('close', leave);
      limits.spend(from.name, 1);
      const { 'content-encoding': encoding = 'identity' } = request.headers;
      if (encoding !== 'identity') throw unsupported();
      brokers.set(request, from);
    },
    async handler(request, reply) {
      const from = brokers.get(request);
      if (from === undefined) throw new Error('a report reached the handler without a verified sender');
      const events = parseEvents(request.body, mediaTypeOf(request));
      limits.spend(from.name, events.length, 1);
      const trace = parseTraceparent(request.headers.traceparent as string | undefined);
      const takeOne = withTimeout((event, signal) => take(traced(event, trace), from, signal), sinkMilliseconds);
      const results = await receiveAll(events, takeOne, ({ code }) => metrics.rejected('HTTP', code));
      return reply.code(202).send(responseFor(results, Array.isArray(request.body)));
    },
  });
}

function addInfoRoutes(app: FastifyInstance, { jwks }: StatusApiOptions, ready: () => boolean): void {
  const text = (reply: FastifyReply, status: number, body: string) =>
    reply.code(status).type('text/plain; charset=utf-8').send(body);
  app.get('/healthz', (_request, reply) => text(reply, 200, 'ok'));
  app.get('/readyz', (_request, reply) => (ready() ? text(reply, 200, 'ok') : text(reply, 503, 'not ready')));
  app.get('/openapi.json', (_request, reply) => reply.type('application/json').send(JSON.stringify(openApi())));
  app.get('/.well-known/jwks.json', (_request, reply) =>
    reply
      .type('application/jwk-set+json')
      // Shorter than the time that keys are published before they are used.
      .header('cache-control', 'public, max-age=300')
      .send(JSON.stringify(jwks())),
  );
}

/** An event without a trace gets that of the request. */
const traced = (event: BrokerEvent, trace: TraceParent | undefined): BrokerEvent =>
  event.traceparent !== undefined || trace === undefined ? event : { ...event, traceparent: formatTraceparent(trace) };

/** The bearer token; empty if there is none, which is then rejected, logged and counted like any other. */
function bearerOf({ headers }: FastifyRequest): string {
  const [, token = ''] = /^Bearer +([^\s]+)$/i.exec(headers.authorization ?? '') ?? [];
  return token;
}

const mediaTypeOf = ({ headers }: FastifyRequest): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
