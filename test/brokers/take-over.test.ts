/** Two brokers of one cluster: one takes over the deployments of the other, and removes them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import { untilQuotaRefuses } from '../support/quota.ts';
import {
  type BrokerOnStage,
  claims,
  madeFor,
  secrets,
  sketchIn,
  startKubernetesBroker,
  statefulSets,
} from './support/kubernetes-broker.ts';
import type { ResourceSketch } from './support/platform.ts';

const cluster = sharedCluster();
const records = uniqueName('kidp-brokers');
let client: Client;
let namespace: string;
let old: BrokerOnStage;
let next: BrokerOnStage;
const sketch = sketchIn(() => namespace);

beforeAll(async () => {
  const { kubeconfig } = cluster;
  client = connect(loadKubeconfig({ file: kubeconfig }));
  namespace = await cluster.uniqueNamespace('team');
  const prices = { currency: 'EUR', perHour: { Database: { default: 3600 } } };
  old = await startKubernetesBroker({ kubeconfig, namespace: records, prices });
  next = await startKubernetesBroker({ kubeconfig, namespace: records, prices });
});
afterAll(async () => {
  await old?.stop();
  await next?.stop();
  await client?.close();
});

const takenOver = () => ({ formerBrokers: [old.name] });
const stateOf = async ({ platform, url }: BrokerOnStage, { uid }: ResourceSketch) =>
  (await platform.get(`${url}/v1/deployments/${uid}`)).body.state;

describe('a deployment of another broker', () => {
  test('is maintained and removed by the broker that takes over', async () => {
    const database = sketch('Database', { engine: 'postgresql', backup: { enabled: true } });
    const before = await old.ask(database, 'ready');
    const taken = { ...database, attempt: 1, spec: { engine: 'postgresql' } };
    const after = await next.ask(taken, 'ready', takenOver());
    expect(after.credentials?.revision).toBe(before.credentials?.revision);
    // The backup objects are no longer requested, and the former broker leaves everything alone.
    const makers = (await madeFor(client, database.uid)).map(({ metadata }) => [
      metadata.labels?.['broker.platform.company.com/name'],
      metadata.name,
    ]);
    expect(makers.filter(([maker, part]) => maker !== next.name || part?.includes('backup'))).toEqual([]);
    expect(await stateOf(old, database)).toBe('deleted');
    // The former broker reports its final costs; the new one starts at zero and reports its own at the end.
    const lastCosts = ({ platform }: BrokerOnStage) =>
      platform.events.flatMap(({ data }) => ('final' in data && data.resource.uid === database.uid ? [data] : []));
    await eventually(() => lastCosts(old).length > 0);
    expect(lastCosts(old)).toMatchObject([{ broker: old.name, final: true }]);
    expect(lastCosts(next)).toEqual([]);
    expect((await old.platform.post(old.url, old.platform.request(database))).body.outcome).toBe('stale');
    await next.ask({ ...database, generation: 2, action: 'Delete' }, 'deleted', takenOver());
    expect(await madeFor(client, database.uid)).toEqual([]);
    expect(lastCosts(next)).toMatchObject([{ broker: next.name, final: true }]);
    expect(lastCosts(old)).toHaveLength(1);
  });

  test('is removed with its volumes by a broker that never deployed it', async () => {
    const database = sketch('Database', { engine: 'postgresql' });
    const target = { name: 'disks', provider: 'onprem' };
    // No volume can be provisioned, so the deployment hangs, but its objects exist.
    await old.platform.post(old.url, old.platform.request(database, { target }));
    await eventually(async () => (await madeFor(client, database.uid, [claims])).length > 0);
    await next.ask({ ...database, generation: 2, action: 'Delete' }, 'deleted', { target, ...takenOver() });
    expect(await madeFor(client, database.uid)).toEqual([]);
  });

  test('is returned to and removed by its first broker', async () => {
    const secret = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    const first = await old.ask(secret, 'ready');
    await next.ask({ ...secret, attempt: 1 }, 'ready', takenOver());
    const back = { formerBrokers: [next.name] };
    expect((await old.ask({ ...secret, attempt: 2 }, 'ready', back)).credentials?.revision).toBe(
      first.credentials?.revision,
    );
    await old.ask({ ...secret, generation: 2, action: 'Delete' }, 'deleted', back);
    expect(await madeFor(client, secret.uid)).toEqual([]);
  });

  test('is neither reported as deleted nor created again if the broker cannot see it', async () => {
    const secret = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    const elsewhere = { formerBrokers: [uniqueName('elsewhere')] };
    const unseen = { class: 'permanent', code: 'former-unseen' };
    expect((await next.ask(secret, 'failed', elsewhere)).error).toMatchObject(unseen);
    expect(await madeFor(client, secret.uid)).toEqual([]);
    const gone = { ...secret, generation: 2, action: 'Delete' as const };
    expect((await next.ask(gone, 'failed', elsewhere)).error).toMatchObject(unseen);
  });

  test('counts as deleted if its broker failed before it created anything', async () => {
    const secret = sketch('Secret', { keys: [{ name: 'k', remoteRef: { path: 'no-such' } }] });
    await old.ask(secret, 'failed');
    await next.ask({ ...secret, generation: 2, action: 'Delete' }, 'deleted', takenOver());
  });
});

test('the remains of a failed deployment are found without the namespace prefix of its target', async () => {
  const prefix = uniqueName('p');
  const full = `${prefix}${namespace}`;
  await cluster.kubectl(['create', 'namespace', full]);
  await cluster.kubectl(['create', 'quota', 'none', '-n', full, '--hard=count/statefulsets.apps=0']);
  const labels = { app: 'probe' };
  await untilQuotaRefuses(client, statefulSets, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'probe', namespace: full },
    spec: {
      serviceName: 'probe',
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'app:1' }] } },
    },
  });
  const database = sketch('Database', { engine: 'postgresql' });
  const target = {
    name: 'prefixed',
    provider: 'onprem',
    parameters: { storage: 'ephemeral', namespacePrefix: prefix },
  };
  const failed = await old.ask(database, 'failed', { target });
  expect(failed.error).toMatchObject({ class: 'quota' });
  expect((await madeFor(client, database.uid, [secrets])).map(({ metadata }) => metadata.namespace)).toEqual([full]);
  // By then the target has been deleted, with its parameters.
  const gone = { name: 'prefixed', provider: 'unknown' };
  await old.ask({ ...database, generation: 2, action: 'Delete' }, 'deleted', { target: gone });
  expect(await madeFor(client, database.uid)).toEqual([]);
});
