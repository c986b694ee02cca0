/** Metrics name policies, teams and clusters: only users who may `get` the path /metrics read them, on the one port that has them. */
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { memoryKeyStore } from '../../src/broker/identity/index.ts';
import { kubernetesProvider, openKeyRing, startBroker } from '../../src/broker/index.ts';
import { keysFromFile, openCharts } from '../../src/fleet/index.ts';
import { startRest } from '../../src/rest/index.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { reviewedAccess } from '../../src/runtime/internal.ts';
import { type PolicyPlane, startPolicyPlane } from '../live-policies/support/platform.ts';
import { getMetrics, tokenOf } from '../support/metrics.ts';

let live: PolicyPlane;
let urls: Record<'webhook' | 'status API' | 'REST API' | 'broker', string>;
const tokens: Record<string, string | undefined> = {};
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  live = await startPolicyPlane();
  const platform = await live.start({ dispatch: {} });
  const keys = await openKeyRing(memoryKeyStore(), { issuer: 'local', subject: 'local' });
  stops.push(async () => keys.close());
  const broker = await startBroker({
    name: 'local',
    provider: await kubernetesProvider({
      ...{ broker: 'local', client: live.client, leaseClient: live.client, namespace: 'default' },
      decrypt: (jwe) => keys.decrypt(jwe),
      managementCluster: true,
      log: silentLogger,
    }),
    keys,
    platform: { jwks: () => ({ keys: [] }), statusUrl: 'http://127.0.0.1:9/v1/status' },
    http: {},
    registry: new Registry(),
    metricsAccess: reviewedAccess({ client: live.client, log: silentLogger }),
    log: silentLogger,
  });
  stops.push(() => broker.stop());
  const rest = await startRest({
    client: live.client,
    systemNamespace: 'default',
    authentication: { audience: 'kidp', issuer: 'test', keys: { file: '/nonexistent/jwks.json' } },
    charts: openCharts({ client: live.client, systemNamespace: 'default' }),
    sealingKeys: keysFromFile('/nonexistent/keys.json'),
    definitions: async () => [],
    registry: new Registry(),
    log: silentLogger,
  });
  stops.push(() => rest.stop());
  urls = {
    'REST API': rest.url,
    webhook: platform.admission.url,
    'status API': platform.statusApi?.url ?? '',
    broker: broker.url ?? '',
  };
  tokens.prometheus = await tokenOf(live.client, 'prometheus', true);
  tokens.developer = await tokenOf(live.client, 'developer', false);
  tokens.forged = `${tokens.prometheus.slice(0, -8)}AAAAAAAA`;
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
  await live?.stop();
});

test.each([
  { server: 'webhook', as: 'nobody', status: 401, reason: 'anyone on the network' },
  { server: 'webhook', as: 'forged', status: 401, reason: 'a token that the API server has not signed' },
  { server: 'webhook', as: 'developer', status: 403, reason: 'an authenticated user without the right' },
  { server: 'webhook', as: 'prometheus', status: 200, reason: 'the right is granted' },
  { server: 'broker', as: 'nobody', status: 401, reason: 'anyone on the network' },
  { server: 'broker', as: 'developer', status: 403, reason: 'an authenticated user without the right' },
  { server: 'broker', as: 'prometheus', status: 200, reason: 'the right is granted' },
  { server: 'status API', as: 'nobody', status: 404, reason: 'the metrics are at the port of the webhook' },
  { server: 'REST API', as: 'nobody', status: 404, reason: 'the metrics are at the port of the webhook' },
  { server: 'REST API', as: 'prometheus', status: 404, reason: 'the metrics are at the port of the webhook' },
  { server: 'status API', as: 'prometheus', status: 404, reason: 'the metrics are at the port of the webhook' },
] as const)('$server, as $as: $status, because $reason', async ({ server, as, status }) => {
  const answer = await getMetrics(urls[server], tokens[as]);
  expect(answer).toMatchObject({ status });
  expect(answer.text.includes('# HELP')).toBe(status === 200);
  // A refusal says nothing about the inside: no address, no path of a file, no stack, no version.
  if (status !== 200)
    expect(answer.text).not.toMatch(/https?:|127\.0\.0\.1|\.ts\b|node_modules|\bat \w+ \(|\d+\.\d+\.\d+/);
});
