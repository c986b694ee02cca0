/** The HTTP server of a broker: receives requests, shows deployments, and serves its keys, health and metrics. */
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import type { Logger } from '../../runtime/index.ts';
import {
  backlog,
  defaultLimits,
  type MetricsAccess,
  makeListener,
  Problem,
  portError,
  reachableHost,
  retryAfter,
  type ServingCertificate,
} from '../../runtime/internal.ts';
import { MAX_EVENT_BYTES, readEvent } from '../contract/index.ts';
import { DEPLOYMENTS_SCOPE, IdentityError, type KeyRing, type PlatformVerifier } from '../identity/index.ts';
import { problemOf } from '../status-api/problem.ts';
import type { Intake } from './intake.ts';
import type { BrokerMetrics } from './metrics.ts';
import { NotLeader, type Provider } from './provider.ts';
import type { DeploymentRecord } from './record.ts';

interface BrokerServerOptions {
  readonly broker: string;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly tls?: ServingCertificate | undefined;
  readonly intake: Intake;
  readonly provider: Provider;
  readonly verifier: PlatformVerifier;
  readonly keys: KeyRing;
  readonly registry: Registry;
  readonly metricsAccess: MetricsAccess | undefined;
  readonly metrics: BrokerMetrics;
  /** Whether `GET /v1/ledger` lists every claim: for tests. */
  readonly ledger: boolean;
  readonly ready: () => boolean;
  readonly log: Logger;
}

export interface BrokerServer {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

const mediaTypes = ['application/cloudevents+json', 'application/json'];

export async function startBrokerServer(options: BrokerServerOptions): Promise<BrokerServer> {
  const { host, port, tls } = options;
  let listener: ReturnType<typeof makeListener> | undefined;
  const app = fastify({
    logger: false,
    // A little more than the maximum size of an event, so that one that is too large gets its own error code.
    bodyLimit: MAX_EVENT_BYTES + 64 * 1024,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 256 },
    serverFactory: (answer) => {
      listener = makeListener(answer, tls, defaultLimits);
      return listener.server;
    },
  });
  setErrorHandlers(app, options);
  addDeployments(app, options);
  addInfoRoutes(app, options);
  try {
    await app.listen({ host, port, backlog });
  } catch (error) {
    listener?.end();
    throw portError(error, { host, port, what: 'the broker' });
  }
  const bound = (app.server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `${tls === undefined ? 'http' : 'https'}://${reachableHost(host)}:${bound}`,
    async stop() {
      const cutOff = setTimeout(() => listener?.cutOff(), 5_000);
      await app.close();
      clearTimeout(cutOff);
      listener?.end();
    },
  };
}

function addDeployments(app: FastifyInstance, options: BrokerServerOptions): void {
  const { broker, intake, provider, verifier } = options;
  const onRequest = async (request: FastifyRequest) => {
    const [, token = ''] = /^Bearer +([^\s]+)$/i.exec(request.headers.authorization ?? '') ?? [];
    await verifier.token(token, DEPLOYMENTS_SCOPE);
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(mediaTypes, { parseAs: 'buffer' }, async (_: FastifyRequest, body: Buffer) => body);

  app.post('/v1/deployments', {
    onRequest,
    async handler(request, reply) {
      const read = readEvent(request.body, ['request']);
      if ('problem' in read) {
        const { code, path, message } = read.problem;
        throw new Problem(code === 'malformed' ? 400 : code === 'oversized' ? 413 : 422, code, message, {
          more: { path },
        });
      }
      const { event } = read;
      const { 'idempotency-key': key } = request.headers;
      if (key !== undefined && key !== event.id) {
        throw new Problem(400, 'idempotency-key', 'Idempotency-Key must be the id of the event, or be left out');
      }
      if (event.data.broker !== broker) {
        throw new Problem(422, 'wrong-broker', `this is Broker ${broker}, not ${event.data.broker}`);
      }
      return reply.code(202).send(await intake.receive(event, 'HTTP'));
    },
  });
  app.get<{ Params: { uid: string } }>('/v1/deployments/:uid', {
    onRequest,
    async handler(request, reply) {
      const stored = await provider.records.get(request.params.uid);
      if (stored === undefined) throw new Problem(404, 'absent', 'this broker does not know the object');
      return reply.send(publicView(stored.record));
    },
  });
  if (!options.ledger) return;
  app.get('/v1/ledger', {
    onRequest,
    async handler(_request, reply) {
      const records = [...provider.records.all()].map(({ record }) => publicView(record));
      return reply.send({ broker, records });
    },
  });
}

/** The public fields of a record: neither the request nor the notes of the provider. */
function publicView(record: DeploymentRecord): object {
  const { uid, deploymentId, state, report, sequence, acknowledged, ledger, request, changedAt } = record;
  const { action, resource } = request;
  return {
    uid,
    resource,
    deploymentId,
    action,
    state,
    phase: report.phase,
    report,
    sequence,
    acknowledged,
    ledger,
    changedAt,
  };
}

function addInfoRoutes(app: FastifyInstance, options: BrokerServerOptions): void {
  const { broker, version, provider, keys, registry, metricsAccess, ready } = options;
  app.get('/v1/health', (_request, reply) =>
    reply.send({ broker, version, capabilities: provider.capabilities, leads: provider.leadership.isLeader }),
  );
  app.get('/readyz', (_request, reply) =>
    reply
      .code(ready() ? 200 : 503)
      .type('text/plain')
      .send(ready() ? 'ok' : 'not ready'),
  );
  if (metricsAccess !== undefined) {
    app.get('/metrics', {
      async onRequest({ headers }) {
        const refusal = await metricsAccess(headers.authorization);
        if (refusal !== undefined) throw refusal;
      },
      handler: async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()),
    });
  }
  app.get('/.well-known/jwks.json', (_request, reply) =>
    reply
      .type('application/jwk-set+json')
      .header('cache-control', 'public, max-age=300')
      .send(JSON.stringify(keys.jwks())),
  );
}

function setErrorHandlers(app: FastifyInstance, { log, metrics }: BrokerServerOptions): void {
  const send = (reply: FastifyReply, problem: Problem) =>
    reply
      .code(problem.status)
      .headers(problem.headers)
      .type('application/problem+json')
      .send(JSON.stringify(problem.body));
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof NotLeader) {
      return send(reply, new Problem(503, 'not-leading', error.message, { headers: retryAfter(2_000) }));
    }
    const problem = problemOf(error);
    metrics.refused('HTTP', error instanceof IdentityError ? error.reason : (problem?.code ?? 'unavailable'));
    if (problem !== undefined) return send(reply, problem);
    // Most likely the record store is unavailable. The platform has an outbox and retries.
    log.error('request could not be processed', { error });
    const away = new Problem(503, 'unavailable', 'the request could not be processed now: send it again', {
      headers: retryAfter(2_000),
    });
    return send(reply, away);
  });
  app.setNotFoundHandler((_request, reply) =>
    send(reply, new Problem(404, 'not-found', 'no such path: docs/brokers.md lists the paths')),
  );
}
