/** Serves one request: authentication, rate limit, roles, validation, then the route. */
import { performance } from 'node:perf_hooks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Client, Logger, Tracer } from '../runtime/index.ts';
import { Problem, parseTraceparent, sendProblem, withTraceparent } from '../runtime/internal.ts';
import { type Caller, holdsOneOf } from './caller.ts';
import { routeCheck } from './check.ts';
import type { RestMetrics } from './metrics.ts';
import { problemOf, unsupported } from './problems.ts';
import type { RateLimiter } from './rate-limit.ts';
import { spanOf } from './request-span.ts';
import type { Call, Route } from './route.ts';

export interface Serving {
  readonly authenticate: (authorization: string | undefined) => Promise<Caller>;
  readonly limiter: RateLimiter;
  readonly perMinute: number;
  readonly client: Client;
  readonly requestMilliseconds: number;
  readonly metrics: RestMetrics;
  readonly tracer: Tracer;
  readonly log: Logger;
}

/** State of a request before its body is read. */
interface PendingRequest {
  readonly caller: Caller;
  readonly traceparent: string;
  readonly began: number;
}

export function serveRoute(app: FastifyInstance, route: Route, serving: Serving): void {
  const check = routeCheck(route);
  const pending = new WeakMap<FastifyRequest, PendingRequest>();
  const what = `${route.method} ${route.path}`;

  app.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    /** Runs every check that needs no body, so that the body of an unauthenticated request is never read. */
    async onRequest(request, reply) {
      const caller = await serving.authenticate(request.headers.authorization);
      // The span starts only after authentication: otherwise anyone could flood the trace store with traces of their
      // choice.
      const { traceparent } = spanOf(serving.tracer, route, request.headers.traceparent as string | undefined, reply);
      pending.set(request, { caller, traceparent, began: performance.now() });
      serving.limiter.spend(
        caller.user,
        route.perMinute === undefined ? 'the API' : what,
        route.perMinute ?? serving.perMinute,
      );
      if (route.roles.length > 0 && !holdsOneOf(caller, route.roles)) {
        throw new Problem(403, 'forbidden', `requires the role ${route.roles.join(' or ')}`, {
          more: { roles: route.roles },
        });
      }
      const { 'content-encoding': encoding = 'identity' } = request.headers;
      if (encoding !== 'identity') throw unsupported();
      check.params(request.params);
    },
    async handler(request, reply) {
      const known = pending.get(request);
      if (known === undefined) throw new Error('request was not authenticated before its handler');
      const query = check.query(request.query);
      check.body(request.body);
      return answer(known, request, reply, query);
    },
    /** Audits and measures every response, whatever its status. */
    async onResponse(request, reply) {
      const { caller, traceparent, began } = pending.get(request) ?? {};
      serving.metrics.answered(
        route.operationId,
        reply.statusCode,
        began === undefined ? 0 : performance.now() - began,
      );
      if (route.audit === undefined) return;
      serving.log.info('audit', {
        audit: true,
        event: route.audit,
        userId: caller?.user,
        groups: caller?.groups,
        ...(caller === undefined ? {} : targets.get(request)),
        params: request.params,
        status: reply.statusCode,
        outcome: reply.statusCode < 400 ? 'done' : 'refused',
        address: request.ip,
        traceId: parseTraceparent(traceparent)?.traceId,
      });
    },
    errorHandler(error, request, reply) {
      const traceId = parseTraceparent(pending.get(request)?.traceparent)?.traceId;
      const problem = problemOf(error);
      if (problem === undefined || problem.status >= 500) {
        serving.log.error('REST API request failed', { what, traceId, error });
      }
      const said = problem ?? new Problem(500, 'internal', 'internal error: see the log of the platform');
      return sendProblem(
        reply,
        traceId === undefined
          ? said
          : new Problem(said.status, said.code, said.message, {
              headers: said.headers,
              more: { ...said.more, traceId },
            }),
      );
    },
  });

  const targets = new WeakMap<FastifyRequest, object>();

  async function answer(
    { caller, traceparent }: PendingRequest,
    request: FastifyRequest,
    reply: FastifyReply,
    query: Call['query'],
  ) {
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(serving.requestMilliseconds)]);
    const call: Call = {
      caller,
      client: serving.client.impersonate({ user: caller.user, groups: caller.groups }),
      params: request.params as Record<string, string>,
      query,
      body: request.body,
      traceparent,
      tracer: serving.tracer,
      signal,
      log: serving.log.with({ traceId: parseTraceparent(traceparent)?.traceId, userId: caller.user }),
      touched: ({ kind, metadata }) => {
        targets.set(request, { kind, name: metadata.name, id: metadata.uid });
      },
    };
    // Requests to API servers made by the route carry the trace context.
    const { status, body, headers = {} } = await withTraceparent(traceparent, () => route.run(call));
    reply.code(status).headers(headers);
    if (body === undefined) return reply.send();
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
  }
}
