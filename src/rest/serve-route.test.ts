import fastify from 'fastify';
import { expect, test } from 'vitest';
import { silentLogger, type Tracer } from '../runtime/index.ts';
import { currentTraceparent, makeApp, parseTraceparent, type SpanOptions } from '../runtime/internal.ts';
import { eventually } from '../runtime/testing/index.ts';
import { callerOf } from './caller.ts';
import { problemOf } from './problems.ts';
import type { Route } from './route.ts';
import { serveRoute } from './serve-route.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const own = `00-${traceId}-b7ad6b7169203331-01`;

interface RecordedSpan {
  readonly name: string;
  readonly options: SpanOptions;
  readonly set: object;
  failure?: string;
}

/** A tracer that records spans with a fixed span id. */
function tracerInto(spans: RecordedSpan[]): Tracer {
  return {
    async span(name, options, run) {
      const set = {};
      const span: RecordedSpan = { name, options, set };
      try {
        return await run({ traceparent: own, set: (more) => void Object.assign(set, more), event() {} });
      } catch (error) {
        span.failure = String(error);
        throw error;
      } finally {
        spans.push(span);
      }
    },
  };
}

/** A server with one route and the given tracer. */
function serving(run: Route['run'], tracer?: Tracer) {
  const { app } = makeApp((given) => fastify(given), {
    what: 'a test',
    tls: undefined,
    limits: undefined,
    mostBytes: 1024,
    problemOf,
    log: silentLogger,
  });
  const route: Route = {
    method: 'GET',
    path: '/api/v1/things/{name}',
    operationId: 'getThing',
    tag: 'Things',
    summary: 'Get a thing',
    roles: [],
    params: { name: { type: 'string' } },
    answer: { status: 200, description: 'It.' },
    run,
  };
  serveRoute(app, route, {
    authenticate: async (authorization) => {
      if (authorization === undefined) throw new Error('unauthenticated');
      return callerOf('ada', []);
    },
    limiter: { spend() {} },
    perMinute: 60,
    client: { impersonate: () => ({}) } as never,
    requestMilliseconds: 60_000,
    metrics: { answered() {} },
    tracer: tracer ?? { span: (_name, { parent = '' }, work) => work({ traceparent: parent, set() {}, event() {} }) },
    log: silentLogger,
  });
  return app;
}

const asking = (headers: Readonly<Record<string, string>> = {}) => ({
  url: '/api/v1/things/one',
  headers: { authorization: 'Bearer x', ...headers },
});
const callers = `00-${traceId}-00f067aa0ba902b7-01`;

test('the span of a request and its outgoing requests continue the trace of the caller', async () => {
  const spans: RecordedSpan[] = [];
  let seen: (string | undefined)[] = [];
  const app = serving(async ({ traceparent }) => {
    await Promise.resolve();
    seen = [traceparent, currentTraceparent()];
    return { status: 200, body: {} };
  }, tracerInto(spans));
  expect((await app.inject(asking({ traceparent: callers }))).statusCode).toBe(200);
  await eventually(() => spans.length === 1, { within: 60_000, every: 10 });
  expect(seen).toEqual([own, own]);
  expect(spans).toMatchObject([
    {
      name: 'GET /api/v1/things/{name}',
      options: { parent: callers, attributes: { 'http.route': '/api/v1/things/{name}', 'kidp.operation': 'getThing' } },
      set: { 'http.response.status_code': 200 },
    },
  ]);
  await app.close();
});

test.each([
  { reason: 'starts a trace if the caller sends none', traceparent: undefined },
  { reason: 'starts a trace if the traceparent is malformed', traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` },
])('$reason', async ({ traceparent }) => {
  const spans: RecordedSpan[] = [];
  const app = serving(async () => ({ status: 200 }), tracerInto(spans));
  await app.inject(asking(traceparent === undefined ? {} : { traceparent }));
  await eventually(() => spans.length === 1, { within: 60_000, every: 10 });
  expect(spans[0]?.options).not.toHaveProperty('parent');
  await app.close();
});

test('propagates the trace context without recording spans', async () => {
  let seen: string | undefined;
  const app = serving(async () => {
    seen = currentTraceparent();
    return { status: 200 };
  });
  await app.inject(asking({ traceparent: callers }));
  expect(parseTraceparent(seen)?.traceId).toBe(traceId);
  await app.close();
});

test('marks a failed span, and records none for an unauthenticated request', async () => {
  const spans: RecordedSpan[] = [];
  const app = serving(() => Promise.reject(new Error('no')), tracerInto(spans));
  expect((await app.inject({ url: '/api/v1/things/one' })).statusCode).toBe(500);
  const failed = await app.inject(asking({ traceparent: callers }));
  expect(failed.json()).toMatchObject({ traceId });
  await eventually(() => spans.length === 1, { within: 60_000, every: 10 });
  expect(spans).toMatchObject([
    { failure: 'Unanswered: response status 500', set: { 'http.response.status_code': 500 } },
  ]);
  await app.close();
});
