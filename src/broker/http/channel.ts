/**
 * Sends requests to brokers over HTTP: the fallback if Kafka is not available, and the channel for urgent requests. A
 * broker is not trusted: its time is limited, its answer is size-limited, and redirects are not followed.
 */
import { createHash } from 'node:crypto';
import { Agent, request } from 'undici';
import { type Clock, systemClock } from '../../runtime/index.ts';
import { type AddressGuard, isSafeToReach, readAtMost } from '../../runtime/internal.ts';
import { type BrokerAddress, type Channel, ChannelError } from '../channel.ts';
import { encodeEvent } from '../contract/index.ts';
import type { RequestEvent } from '../messages.ts';
import { healthTracker } from './health.ts';
import { type BrokerResponse, failureOf, httpError } from './response.ts';

interface HttpChannelOptions {
  /** Returns a token for this broker: `keyRing.token({ audience: broker.name, scope: DEPLOYMENTS_SCOPE })`. */
  readonly token: (broker: BrokerAddress) => Promise<string>;
  readonly clock?: Clock;
  /** The time limit of a request, from the first byte to the last. Default: 10 s. */
  readonly timeoutMilliseconds?: number;
  /** The number of concurrent connections to one broker. Default: 16. */
  readonly connections?: number;
  /** Allows plain HTTP to other machines: for clusters whose service mesh encrypts. */
  readonly insecureHttp?: boolean;
  /** The guard of connections: the author of a Broker chooses its endpoint. */
  readonly guard?: AddressGuard | undefined;
}

const maxAnswerBytes = 64 * 1024;

export function httpChannel(options: HttpChannelOptions): Channel {
  const { token, clock = systemClock, timeoutMilliseconds = 10_000, insecureHttp = false } = options;
  const agents = agentsByTrust(options.connections ?? 16, timeoutMilliseconds, options.guard);
  const health = healthTracker(clock);

  async function exchange(
    event: RequestEvent,
    url: URL,
    broker: BrokerAddress,
    signal: AbortSignal,
  ): Promise<BrokerResponse> {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agents.of(broker.caBundle),
      method: 'POST',
      signal,
      headersTimeout: timeoutMilliseconds,
      bodyTimeout: timeoutMilliseconds,
      headers: {
        authorization: `Bearer ${await token(broker)}`,
        'content-type': 'application/cloudevents+json',
        'idempotency-key': event.id,
        ...(event.traceparent === undefined ? {} : { traceparent: event.traceparent }),
        ...(event.tracestate === undefined ? {} : { tracestate: event.tracestate }),
      },
      body: encodeEvent(event),
    });
    const retryAfter = headers['retry-after'];
    return {
      status: statusCode,
      retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
      body: await readAtMost(body, maxAnswerBytes),
    };
  }

  /**
   * Retries once if the broker has just closed a kept-alive connection. A request that arrives twice is one deployment.
   */
  async function exchangeTwice(
    event: RequestEvent,
    url: URL,
    broker: BrokerAddress,
    signal: AbortSignal,
  ): Promise<BrokerResponse> {
    try {
      return await exchange(event, url, broker, signal);
    } catch (error) {
      if (signal.aborted || !isBrokenConnection(error)) throw error;
      return exchange(event, url, broker, signal);
    }
  }

  async function send(event: RequestEvent, broker: BrokerAddress, given: AbortSignal | undefined): Promise<void> {
    const url = addressOf(broker, insecureHttp);
    const late = AbortSignal.timeout(timeoutMilliseconds);
    let answer: BrokerResponse;
    try {
      answer = await exchangeTwice(event, url, broker, given === undefined ? late : AbortSignal.any([given, late]));
    } catch (cause) {
      given?.throwIfAborted();
      if (late.aborted || isTimeout(cause)) {
        throw httpError('timeout', `no answer from ${url.host} within ${timeoutMilliseconds} ms`, undefined, cause);
      }
      throw httpError('unavailable', `${url.host} cannot be reached: ${messageOf(cause)}`, undefined, cause);
    }
    const failed = failureOf(answer, event.data.deploymentId, clock.now());
    if (failed !== undefined) throw failed;
  }

  return {
    name: 'HTTP',
    available: (broker) => broker.endpoint !== undefined && broker.channel !== 'Kafka' && health.isHealthy(broker.name),
    async send(event, broker, { signal } = {}) {
      signal?.throwIfAborted();
      try {
        await send(event, broker, signal);
        health.succeeded(broker.name);
      } catch (error) {
        // A broker that refuses one message may accept the next, and a caller that gave up says nothing about the
        // broker.
        if (error instanceof ChannelError && error.failure !== 'refused') {
          health.failed(broker.name, error.retryAfterMilliseconds);
        }
        throw error;
      }
    },
    close: () => agents.close(),
  };
}

function addressOf({ name, endpoint }: BrokerAddress, insecureHttp: boolean): URL {
  const url = endpoint === undefined ? null : URL.parse(`${endpoint.replace(/\/+$/, '')}/v1/deployments`);
  if (url === null) throw httpError('refused', `spec.endpoint of Broker ${name} is not a valid URL`);
  if (!isSafeToReach(url, insecureHttp)) {
    throw httpError('refused', `${url.origin} is not encrypted and would expose the platform's token: use https`);
  }
  return url;
}

interface Agents {
  of(caBundle: string | undefined): Agent;
  close(): Promise<void>;
}

/** More certificate authorities than there are broker operators. The least recently used agent is closed. */
const maxAgents = 100;

function agentsByTrust(connections: number, timeout: number, guard: AddressGuard | undefined): Agents {
  const agents = new Map<string, Agent>();
  return {
    of(caBundle) {
      const id = caBundle === undefined ? '' : createHash('sha256').update(caBundle).digest('hex');
      const connect = { timeout, allowH2: false, ...(caBundle === undefined ? {} : { ca: caBundle }) };
      const agent =
        agents.get(id) ??
        new Agent({ connections, allowH2: false, connect: guard === undefined ? connect : guard.connector(connect) });
      agents.delete(id);
      agents.set(id, agent);
      const [oldest] = agents;
      if (agents.size > maxAgents && oldest !== undefined) {
        agents.delete(oldest[0]);
        void oldest[1].close();
      }
      return agent;
    },
    async close() {
      const open = [...agents.values()];
      agents.clear();
      await Promise.all(open.map((agent) => agent.destroy()));
    },
  };
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code;
const isBrokenConnection = (error: unknown): boolean =>
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(String(codeOf(error)));
const isTimeout = (error: unknown): boolean =>
  ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'].includes(
    String(codeOf(error)),
  );
const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message || String(codeOf(error)) : String(error);
