/**
 * As much of the platform as a broker sees: keys, requests that are signed or sent over HTTP, and a status API that believes only
 * this broker. What was reported is kept, in the order in which it was taken.
 */

import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { Broker } from '../../../src/api/index.ts';
import {
  type Action,
  type BrokerEvent,
  brokerVerifier,
  DEPLOYMENTS_SCOPE,
  type DeployableKind,
  type DeploymentRequest,
  formatDeploymentId,
  type KeyRing,
  memoryKeyStore,
  openKeyRing,
  type RequestEvent,
  requestEvent,
  type StatusEvent,
  startStatusApi,
} from '../../../src/broker/index.ts';
import { type Logger, pinoLogger, silentLogger } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';

/** Set KIDP_TEST_LOG to see what brokers log. */
export const log: Logger = process.env.KIDP_TEST_LOG === undefined ? silentLogger : pinoLogger(pino());

export interface TestPlatform {
  readonly keys: KeyRing;
  readonly statusUrl: string;
  readonly events: readonly BrokerEvent[];
  /** How many reports to come are answered with 503. */
  failNext(reports: number): void;
  reportsOf(uid: string): StatusEvent['data'][];
  /** Waits for the newest report about a deployment to have this phase. */
  untilPhase(deploymentId: string, phase: string): Promise<StatusEvent['data']>;
  request(resource: ResourceSketch, more?: Partial<DeploymentRequest> & { query?: number; time?: Date }): RequestEvent;
  post(url: string, event: RequestEvent): Promise<{ status: number; body: { outcome?: string; code?: string } }>;
  get(url: string): Promise<{ status: number; body: Record<string, unknown> }>;
  stop(): Promise<void>;
}

export interface ResourceSketch {
  readonly kind: DeployableKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation?: number;
  readonly attempt?: number;
  readonly action?: Action;
  readonly spec?: Record<string, unknown>;
}

export const issuer = 'kidp';

export async function startTestPlatform(broker: string, brokerKeys: KeyRing): Promise<TestPlatform> {
  const keys = await openKeyRing(memoryKeyStore(), { issuer, subject: issuer });
  const events: BrokerEvent[] = [];
  let failures = 0;
  const object = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Broker',
    metadata: { name: broker },
    spec: { channel: 'Both', identity: { publicKeys: brokerKeys.jwks().keys.map((key) => JSON.stringify(key)) } },
  } as unknown as Broker;
  const verifier = brokerVerifier({
    broker: ({ issuer: iss, subject }) => (iss === broker && subject === broker ? object : undefined),
    audience: issuer,
    log,
  });
  const api = await startStatusApi({
    verifier,
    sink: {
      async receive(event) {
        if (failures > 0) {
          failures -= 1;
          throw new Error('no API server');
        }
        events.push(event);
        return { result: 'applied' };
      },
    },
    jwks: () => keys.jwks(),
    registry: new Registry(),
    log,
    rateLimit: () => ({ requestsPerSecond: 100_000, burst: 100_000 }),
  });
  const statusUrl = `${api.url}/v1/status`;
  const headers = async () => ({
    authorization: `Bearer ${await keys.token({ audience: broker, scope: DEPLOYMENTS_SCOPE })}`,
  });
  const reportsOf = (uid: string) =>
    events.flatMap(({ data }) => ('phase' in data && data.resource.uid === uid ? [data] : []));
  return {
    keys,
    statusUrl,
    events,
    reportsOf,
    failNext(reports) {
      failures = reports;
    },
    untilPhase: (deploymentId, phase) =>
      eventually(
        () => {
          const of = reportsOf(deploymentId.split('/')[0] ?? '').filter((each) => each.deploymentId === deploymentId);
          const newest = of.sort((a, b) => a.sequence - b.sequence).at(-1);
          if (newest?.phase === phase) return newest;
          throw new Error(
            `${deploymentId} is not ${phase}: ${JSON.stringify(of.map((each) => [each.phase, each.message]))}`,
          );
          // A namespace may have to be gone first, and what did not work is tried again up to 30 s later.
        },
        { within: 180_000 },
      ),
    request({ generation = 1, attempt = 0, action = 'Deploy', spec, ...resource }, { query, time, ...more } = {}) {
      const data: DeploymentRequest = {
        action,
        deploymentId: formatDeploymentId({ uid: resource.uid, generation, attempt }),
        broker,
        resource: { apiVersion: 'platform.company.com/v1', ...resource },
        target: { name: 'test', provider: 'onprem', parameters: { storage: 'ephemeral' } },
        ...(action === 'Deploy' ? { spec: spec ?? {} } : {}),
        replyTo: { statusUrl, encryptionKey: keys.encryptionKey() },
        ...more,
      };
      return requestEvent(data, { ...(query === undefined ? {} : { query }), ...(time === undefined ? {} : { time }) });
    },
    async post(url, event) {
      const answer = await fetch(`${url}/v1/deployments`, {
        method: 'POST',
        headers: { ...(await headers()), 'content-type': 'application/cloudevents+json', 'idempotency-key': event.id },
        body: JSON.stringify(event),
      });
      return { status: answer.status, body: (await answer.json()) as { outcome?: string } };
    },
    async get(url) {
      const answer = await fetch(url, { headers: await headers() });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
    async stop() {
      await api.stop();
      keys.close();
    },
  };
}

export const brokerKeys = (name: string): Promise<KeyRing> =>
  openKeyRing(memoryKeyStore(), { issuer: name, subject: name });
