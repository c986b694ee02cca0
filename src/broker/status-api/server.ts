/**
 * The status API (requirement 000): brokers report here where Kafka is not at hand. Who it is is known before a byte of the body is
 * read; then it is a matter of the sink.
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
  /** 0 or nothing: any free port. */
  readonly port?: number;
  /** Without it, plain HTTP: behind somebody who encrypts, or on one machine. */
  readonly tls?: ServingCertificate | undefined;
  readonly verifier: BrokerVerifier;
  readonly sink: ReportSink;
  /** The platform's public keys (`keyRing.jwks`): brokers verify requests by them. */
  readonly jwks: () => object;
  /** Of a Broker object; undefined: a sensible one. */
  readonly rateLimit?: (broker: string) => RateLimit | undefined;
  readonly registry: Registry;
  readonly log: Logger;
  /** Whether reports can be taken now: Brokers are known. Until then they are asked to come again. */
  readonly ready?: () => boolean;
  readonly clock?: Clock;
  readonly limits?: Partial<ListenerLimits>;
  /** How long the sink may take for a request. Default: 20 s. */
  readonly sinkMilliseconds?: number;
}

/** Reports go to `/v1/status` below its address. */
export type StatusApi = Served;

const maxBytes = 1024 * 1024;
const jsonTypes = ['application/cloudevents+json', 'application/cloudevents-batch+json', 'application/json'] as const;

export async function startStatusApi(options: StatusApiOptions): Promise<StatusApi> {
  const { host = '127.0.0.1', port = 0, tls } = options;
  return listen(makeStatusApi(options), { host, port, tls, what });
}

const what = 'the status API';

/** All of it but the port. */
export function makeStatusApi(options: StatusApiOptions): MadeApp {
  const { tls, limits, log } = options;
  const made = makeApp((given) => fastify(given), { what, tls, limits, mostBytes: maxBytes, problemOf, log });
  addReportRoute(made.app, options);
  addInfoRoutes(made.app, options, () => !made.isDraining() && (options.ready?.() ?? true));
  return made;
}

/** Who sent it, from the token. */
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
    throw new Problem(400, 'malformed', `the body cannot be read: ${parsed.problem}`);
  });

  app.post('/v1/status', {
    async onRequest(request, reply) {
      // Before the Brokers are known, nobody could be told from a stranger.
      if (options.ready?.() === false) {
        throw new Problem(503, 'not-ready', 'the platform is starting: send it again', { headers: retryAfter(2000) });
      }
      const from = await verifier.token(bearerOf(request), STATUS_SCOPE).catch((error: unknown) => {
        if (error instanceof IdentityError) metrics.rejected('HTTP', error.reason);
        throw error;
      });
      const leave = limits.acquire(from.name);
      // Who has hung up meanwhile will not do so again.
      if (reply.raw.destroyed) leave();
      else reply.raw.once('close', leave);
      limits.spend(from.name, 1);
      const { 'content-encoding': encoding = 'identity' } = request.headers;
      if (encoding !== 'identity') throw unsupported();
      brokers.set(request, from);
    },
    async handler(request, reply) {
      const from = brokers.get(request);
      if (from === undefined) throw new Error('a report got past the check of who sent it');
      const events = parseEvents(request.body, mediaTypeOf(request));
      limits.spend(from.name, events.length, 1);
      const trace = parseTraceparent(request.headers.traceparent as string | undefined);
      const takeOne = withTimeout((event, signal) => take(traced(event, trace), from, signal), sinkMilliseconds);
      const results = await receiveAll(events, takeOne, ({ code }) => metrics.rejected('HTTP', code));
      return reply.code(202).send(responseFor(results, Array.isArray(request.body)));
    },
  });
}

function addInfoRoutes(app: FastifyInstance, { jwks, registry }: StatusApiOptions, ready: () => boolean): void {
  const text = (reply: FastifyReply, status: number, body: string) =>
    reply.code(status).type('text/plain; charset=utf-8').send(body);
  app.get('/healthz', (_request, reply) => text(reply, 200, 'ok'));
  app.get('/readyz', (_request, reply) => (ready() ? text(reply, 200, 'ok') : text(reply, 503, 'not ready')));
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  app.get('/openapi.json', (_request, reply) => reply.type('application/json').send(JSON.stringify(openApi())));
  app.get('/.well-known/jwks.json', (_request, reply) =>
    reply
      .type('application/jwk-set+json')
      // Less than keys are published ahead of their use.
      .header('cache-control', 'public, max-age=300')
      .send(JSON.stringify(jwks())),
  );
}

/** An event that says nothing of a trace is of that of the request. */
const traced = (event: BrokerEvent, trace: TraceParent | undefined): BrokerEvent =>
  event.traceparent !== undefined || trace === undefined ? event : { ...event, traceparent: formatTraceparent(trace) };

/** Empty where there is none: that is refused, logged and counted like any other. */
function bearerOf({ headers }: FastifyRequest): string {
  const [, token = ''] = /^Bearer +([^\s]+)$/i.exec(headers.authorization ?? '') ?? [];
  return token;
}

const mediaTypeOf = ({ headers }: FastifyRequest): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
