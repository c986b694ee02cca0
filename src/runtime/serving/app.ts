/** A fastify app from its first hook to its last answer, the same for every server of this project. */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyServerOptions } from 'fastify';
import type { Logger } from '../telemetry/logger.ts';
import { portError, reachableHost } from './address.ts';
import { backlog } from './handshakes.ts';
import {
  defaultLimits,
  type Listener,
  type ListenerLimits,
  makeListener,
  type ServingCertificate,
} from './listener.ts';
import { Problem } from './problem.ts';

interface AppOptions {
  /** The name of the server in messages, for example `the status API`. */
  readonly what: string;
  readonly tls: ServingCertificate | undefined;
  readonly limits: Partial<ListenerLimits> | undefined;
  readonly mostBytes: number;
  /** Maps a thrown error to a problem; undefined for a bug of ours. */
  readonly problemOf: (error: unknown) => Problem | undefined;
  readonly log: Logger;
}

/** The limit of one path parameter. */
const mostAddressCharacters = 32 * 1024;

/** `fastify` is passed in, so that programs that only call API servers do not load it. */
type MakeApp = (options: FastifyServerOptions) => FastifyInstance;

export interface MadeApp {
  readonly app: FastifyInstance;
  readonly listener: Listener;
  /** Whether the server is shutting down. */
  isDraining(): boolean;
  /** Makes every further answer close its connection. */
  drain(): void;
}

export interface Served {
  readonly url: string;
  readonly port: number;
  /** Finishes the requests in flight, and closes the remaining connections after `limitMilliseconds` (default 10 s). */
  stop(options?: { limitMilliseconds?: number }): Promise<void>;
}

/** `makeApp` creates the app, without listening and without routes. */
export function makeApp(make: MakeApp, options: AppOptions): MadeApp {
  let listener: Listener | undefined;
  let draining = false;
  const app = make({
    logger: false,
    bodyLimit: options.mostBytes,
    exposeHeadRoutes: false,
    requestIdHeader: false,
    // Clients that are already connected still get answers.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // URLs that are too long or malformed are answered like all other errors; the header limit bounds their size.
    routerOptions: {
      maxParamLength: mostAddressCharacters,
      onBadUrl: (_path, _request, response) => {
        const { status, body } = new Problem(400, 'malformed', 'the address cannot be read');
        response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body));
      },
    },
    serverFactory: (answer) => {
      listener = makeListener(answer, options.tls, { ...defaultLimits, ...options.limits });
      return listener.server;
    },
  });
  app.addHook('onSend', async (_request, reply) => {
    reply.header('x-content-type-options', 'nosniff');
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    // Otherwise the connection would be kept alive and delay the shutdown.
    if (draining) reply.header('connection', 'close');
  });
  answerProblems(app, options);
  if (listener === undefined) throw new Error('fastify has made no server');
  return {
    app,
    listener,
    isDraining: () => draining,
    drain() {
      draining = true;
    },
  };
}

export async function listen(
  { app, listener, drain }: MadeApp,
  { host, port, what, tls }: { host: string; port: number } & Pick<AppOptions, 'what' | 'tls'>,
): Promise<Served> {
  try {
    await app.listen({ host, port, backlog });
  } catch (error) {
    listener.end();
    throw portError(error, { host, port, what });
  }
  const bound = (app.server.address() as AddressInfo).port;
  let stopped: Promise<void> | undefined;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${reachableHost(host)}:${bound}`,
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

const methods = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

function answerProblems(app: FastifyInstance, { problemOf, log, what }: AppOptions): void {
  app.setErrorHandler((error, _request, reply) => {
    const problem = problemOf(error);
    if (problem === undefined) log.error('request failed', { server: what, error });
    return sendProblem(reply, problem ?? new Problem(500, 'internal', 'internal error; see the log of the platform'));
  });
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?', 1);
    const allowed = methods.filter((method) => app.findRoute({ url: path, method }) !== null);
    if (allowed.length === 0) {
      return sendProblem(
        reply,
        new Problem(404, 'not-found', 'there is nothing here; /openapi.json says what there is'),
      );
    }
    const allow = allowed.join(', ');
    return sendProblem(reply, new Problem(405, 'method', `this takes ${allow}`, { headers: { allow } }));
  });
}

export const sendProblem = (reply: FastifyReply, problem: Problem) =>
  reply
    .code(problem.status)
    .headers(problem.headers)
    .type('application/problem+json')
    .send(JSON.stringify(problem.body));
