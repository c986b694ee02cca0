/**
 * The REST API server of docs/requirements.md, 002. It is stateless: every object is in Kubernetes and every request is
 * made there as the caller, so that any number of replicas can serve.
 */
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { ConfigError, noTracer, systemClock } from '../runtime/index.ts';
import { isLoopback, listen, type MadeApp, makeApp, Problem, parseStrictly, type Served } from '../runtime/internal.ts';
import { authenticate } from './authenticate.ts';
import { docsPage } from './docs-page.ts';
import { tokenKeys } from './keys.ts';
import { restMetrics } from './metrics.ts';
import { openApi } from './openapi.ts';
import type { RestOptions } from './options.ts';
import { problemOf } from './problems.ts';
import { rateLimiter } from './rate-limit.ts';
import type { Route } from './route.ts';
import { allRoutes } from './routes/index.ts';
import { ref } from './schemas.ts';
import { type Serving, serveRoute } from './serve-route.ts';

/** The size limit of etcd with some margin. */
const mostBytes = 2 * 1024 * 1024;
const what = 'the REST API';

export type Rest = Served;

export async function startRest(options: RestOptions): Promise<Rest> {
  const { host = '127.0.0.1', port = 0, tls, insecureHttp = false } = options;
  if (tls === undefined && !insecureHttp && !isLoopback(host)) {
    throw new ConfigError({
      code: 'rest-tls',
      message: `The REST API would be served without TLS on ${host}`,
      hint: 'Configure a certificate, or set --insecure-http if a proxy terminates TLS',
    });
  }
  return listen(makeRest(options), { host, port, tls, what });
}

/** `makeRest` builds the application without listening. */
function makeRest(options: RestOptions): MadeApp {
  const { tls, limits, log, client, clock = systemClock, authentication, perMinute = 600 } = options;
  const made = makeApp((given) => fastify(given), { what, tls, limits, mostBytes, problemOf, log });
  const rules = { ...authentication, keys: tokenKeys(authentication.keys, { clock, log }), clock };
  const serving: Serving = {
    authenticate: (authorization) => authenticate(authorization, rules),
    limiter: rateLimiter({ clock, replicas: options.replicas ?? (() => 1) }),
    perMinute,
    client,
    requestMilliseconds: options.requestMilliseconds ?? 25_000,
    metrics: restMetrics(options.registry),
    tracer: options.tracer ?? noTracer,
    log,
  };
  const { app } = made;
  takeJson(app);
  if (tls !== undefined) {
    app.addHook('onSend', async (_request, reply) => {
      reply.header('strict-transport-security', 'max-age=31536000');
    });
  }
  addPages(app);
  const routes = allRoutes(options);
  for (const route of [...routes, documentOf(routes)]) serveRoute(app, route, serving);
  return made;
}

/** Parses JSON strictly: duplicate keys are ambiguous and rejected. */
function takeJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => {
      if (body.length === 0) return undefined;
      const parsed = parseStrictly(body);
      if ('value' in parsed) return parsed.value;
      throw new Problem(400, 'malformed', `the body is malformed: ${parsed.problem}`);
    },
  );
}

/**
 * The only pages without a token. They contain nothing about this installation: the docs page asks for a token and
 * fetches the document with it.
 */
function addPages(app: FastifyInstance): void {
  app.get('/health', (_request, reply) => reply.type('application/json').send('{"status":"ok"}'));
  app.get('/docs', (_request, reply) => {
    const { html, policy } = docsPage();
    return reply.type('text/html; charset=utf-8').header('content-security-policy', policy).send(html);
  });
}

const documentOf = (routes: readonly Route[]): Route => {
  const health: Route = {
    method: 'GET',
    path: '/health',
    operationId: 'getHealth',
    tag: 'System',
    summary: 'Check that the server is running',
    roles: [],
    open: true,
    answer: { status: 200, description: 'The server is running.', schema: ref('Health') },
    run: async () => ({ status: 200 }),
  };
  const own: Route = {
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    tag: 'System',
    summary: 'Get this OpenAPI document',
    roles: [],
    answer: { status: 200, description: 'The document.', schema: { type: 'object' } },
    run: async () => ({ status: 200, body: document }),
  };
  const document = openApi([...routes, health, own]);
  return own;
};
