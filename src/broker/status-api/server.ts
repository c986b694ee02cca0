/**
 * The status API (requirement 000): brokers report here where Kafka is not at hand. Who it is is known before a byte of the body is
 * read; then it is a matter of the sink.
 */
import type { AddressInfo } from 'node:net';
import { isIPv6 } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { type Clock, ConfigError, type Logger, systemClock } from '../../runtime/index.ts';
import { formatTraceparent, parseStrictly, parseTraceparent, type TraceParent } from '../contract/index.ts';
import { type BrokerVerifier, IdentityError, STATUS_SCOPE } from '../identity/index.ts';
import type { BrokerEvent } from '../messages.ts';
import { reportMetrics, reportTaker } from '../reports/index.ts';
import type { ReportSink, VerifiedBroker } from '../sink.ts';
import { answerFor, eventsIn, takeAll, takeWithin } from './intake.ts';
import {
  defaultLimits,
  type Listener,
  type ListenerLimits,
  makeListener,
  type ServingCertificate,
} from './listener.ts';
import { openApi } from './openapi.ts';
import { Problem, problemOf, retryAfter, unsupported } from './problem.ts';
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

export interface StatusApi {
  /** Of the server; reports go to `/v1/status` below it. */
  readonly url: string;
  readonly port: number;
  /** Finishes what is in flight, and cuts off whoever is left after `limitMilliseconds` (10 s). */
  stop(options?: { limitMilliseconds?: number }): Promise<void>;
}

const mostBytes = 1024 * 1024;
const jsonTypes = ['application/cloudevents+json', 'application/cloudevents-batch+json', 'application/json'] as const;

export async function startStatusApi(options: StatusApiOptions): Promise<StatusApi> {
  const { host = '127.0.0.1', port = 0, tls } = options;
  const { app, listener, drain } = makeStatusApi(options);
  try {
    await app.listen({ host, port });
  } catch (error) {
    listener.end();
    throw portProblem(error, host, port);
  }
  const bound = (app.server.address() as AddressInfo).port;
  let stopped: Promise<void> | undefined;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${reachable(host)}:${bound}`,
    port: bound,
    stop({ limitMilliseconds = 10_000 } = {}) {
      drain();
      stopped ??= (async () => {
        const cutOff = setTimeout(() => listener.cutOff(), limitMilliseconds);
        try {
          await app.close();
        } finally {
          clearTimeout(cutOff);
          listener.end();
        }
      })();
      return stopped;
    },
  };
}

interface Made {
  readonly app: FastifyInstance;
  readonly listener: Listener;
  /** From now on it is not ready, and every answer closes its connection. */
  drain(): void;
}

/** All of it but the port. */
export function makeStatusApi(options: StatusApiOptions): Made {
  let listener: Listener | undefined;
  let draining = false;
  const app = fastify({
    logger: false,
    bodyLimit: mostBytes,
    exposeHeadRoutes: false,
    requestIdHeader: false,
    // Whoever is connected already is answered.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 256, onBadUrl: (_path, _request, response) => response.writeHead(400).end() },
    serverFactory: (answer) => {
      listener = makeListener(answer, options.tls, { ...defaultLimits, ...options.limits });
      return listener.server;
    },
  });
  app.addHook('onSend', async (_request, reply) => {
    reply.header('x-content-type-options', 'nosniff');
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    // Else the connection would be kept, and waited for.
    if (draining) reply.header('connection', 'close');
  });
  answerProblems(app, options.log);
  addReports(app, options);
  addPages(app, options, () => !draining && (options.ready?.() ?? true));
  if (listener === undefined) throw new Error('fastify has made no server');
  return {
    app,
    listener,
    drain() {
      draining = true;
    },
  };
}

/** Who sent it, from the token. */
const brokers = new WeakMap<FastifyRequest, VerifiedBroker>();

function addReports(app: FastifyInstance, options: StatusApiOptions): void {
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
      const leave = limits.enter(from.name);
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
      const events = eventsIn(request.body, mediaTypeOf(request));
      limits.spend(from.name, events.length, 1);
      const trace = parseTraceparent(request.headers.traceparent as string | undefined);
      const takeOne = takeWithin((event, signal) => take(traced(event, trace), from, signal), sinkMilliseconds);
      const results = await takeAll(events, takeOne, ({ code }) => metrics.rejected('HTTP', code));
      return reply.code(202).send(answerFor(results, Array.isArray(request.body)));
    },
  });
}

function addPages(app: FastifyInstance, { jwks, registry }: StatusApiOptions, ready: () => boolean): void {
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

function answerProblems(app: FastifyInstance, log: Logger): void {
  const send = (reply: FastifyReply, problem: Problem) =>
    reply
      .code(problem.status)
      .headers(problem.headers)
      .type('application/problem+json')
      .send(JSON.stringify(problem.body));
  app.setErrorHandler((error, _request, reply) => {
    const problem = problemOf(error);
    if (problem === undefined) log.error('a request to the status API could not be answered', { error });
    return send(reply, problem ?? new Problem(500, 'internal', 'the log of the platform says why'));
  });
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?', 1);
    const methods = (['GET', 'POST'] as const).filter((method) => app.hasRoute({ url: path, method }));
    if (methods.length === 0) {
      return send(reply, new Problem(404, 'not-found', 'there is nothing here; /openapi.json says what there is'));
    }
    const allow = methods.join(', ');
    return send(reply, new Problem(405, 'method', `this takes ${allow}`, { headers: { allow } }));
  });
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

/** Somebody who listens everywhere is found here. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return isIPv6(host) ? `[${host}]` : host;
}

function portProblem(error: unknown, host: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error;
  const problem = code === 'EADDRINUSE' ? 'is taken' : 'may not be used by this user';
  const hint = 'Choose another port for the status API, or stop whoever listens there';
  return new ConfigError({ code: 'port', message: `Port ${port} on ${host} ${problem}`, hint, cause: error });
}
