/** A broker whose watches lag behind its own writes: it must not mistake a stale cache for the current state. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import { untilQuotaRefuses } from '../support/quota.ts';
import {
  type BrokerOnStage,
  deployments,
  idOf,
  Lag,
  madeFor,
  pods,
  secrets,
  sketchIn,
  startKubernetesBroker,
} from './support/kubernetes-broker.ts';

const cluster = sharedCluster();
const lag = new Lag();
let client: Client;
let namespace: string;
let broker: BrokerOnStage;
const sketch = sketchIn(() => namespace);

beforeAll(async () => {
  const { kubeconfig } = cluster;
  client = connect(loadKubeconfig({ file: kubeconfig }));
  namespace = await cluster.uniqueNamespace('team');
  broker = await startKubernetesBroker({ kubeconfig, namespace: uniqueName('kidp-brokers'), through: lag.through });
});
afterEach(() => lag.release());
afterAll(async () => {
  lag.release();
  await broker?.stop();
  await client?.close();
});

test('credentials that were just made are reported, and not those before them', async () => {
  const secret = sketch('Secret', { keys: [{ name: 'cookie', generate: {} }] });
  const first = await broker.ask(secret, 'ready');
  lag.hold(secrets);
  const labels = { 'broker.platform.company.com/rotate': '1' };
  const { credentials } = await broker.ask({ ...secret, attempt: 1 }, 'ready', { labels });
  if (credentials === undefined || !('jwe' in credentials)) throw new Error('no credentials');
  expect(credentials.revision).not.toBe(first.credentials?.revision);
  const [stored] = (await madeFor(client, secret.uid, [secrets])) as { data?: { cookie?: string } }[];
  const { cookie = '' } = await broker.platform.keys.decrypt(credentials.jwe);
  expect(Buffer.from(cookie).toString('base64')).toBe(stored?.data?.cookie);

  // Nor is anything made again from what was there before.
  const again = await broker.ask({ ...secret, attempt: 2 }, 'ready', { labels });
  expect(again.credentials?.revision).toBe(credentials.revision);
});

test('a deployment is not ready because the one before it was', async () => {
  const service = sketch('Service', { image: 'app:1', replicas: 1 });
  await broker.ask(service, 'ready');
  // One copy, and no more than that.
  await cluster.kubectl(['create', 'quota', 'one', '-n', namespace, '--hard=pods=1']);
  const containers = [{ name: 'c', image: 'app:1' }];
  await untilQuotaRefuses(client, pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'probe', namespace },
    spec: { containers },
  });
  lag.hold(deployments);
  const more = { ...service, generation: 2, spec: { image: 'app:1', replicas: 2 } };
  const { platform, url } = broker;
  await platform.post(url, platform.request(more));
  let touched = 0;
  await eventually(async () => {
    // Something happens to a copy, so that the broker looks.
    for (const { metadata } of await madeFor(client, service.uid, [pods])) {
      touched += 1;
      const body = { metadata: { annotations: { 'example.com/touched': String(touched) } } };
      await client.patch(pods, { namespace, name: metadata.name }, { type: 'merge', body });
    }
    return platform.reportsOf(service.uid).some(({ phase }) => phase === 'failed');
  });
  const reported = platform.reportsOf(service.uid).filter(({ deploymentId }) => deploymentId === idOf(more));
  expect(reported.map(({ phase }) => phase)).not.toContain('ready');
  expect(reported.at(-1)?.error).toMatchObject({ class: 'quota', code: 'quota-exceeded' });
});
