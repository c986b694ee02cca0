/** The event recorder on the real API server, as kubectl shows it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, connect, EventRecorder, loadKubeconfig } from '../../src/runtime/index.ts';
import { events } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';

const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
const cluster = sharedCluster();
let client: Client;
let namespace: string;
let recorder: EventRecorder;
const stop = new AbortController();
let ended: Promise<void>;

interface ListedEvent {
  metadata: { name: string; namespace: string };
  reason: string;
  note: string;
  series?: { count: number };
  regarding: { kind: string; name: string };
  reportingController: string;
}

beforeAll(async () => {
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  namespace = await cluster.uniqueNamespace('events');
  recorder = new EventRecorder({ client, reportingController: 'kidp.test/recorder', updateMilliseconds: 200 });
  ended = recorder.start(stop.signal);
});
afterAll(async () => {
  stop.abort();
  await ended;
  await client.close();
});

const eventsAbout = async (name: string, inNamespace = namespace): Promise<ListedEvent[]> => {
  const list = await client.list(events, { namespace: inNamespace, fieldSelector: `regarding.name=${name}` });
  return list.items as unknown as ListedEvent[];
};

test('what happens ten times is one event with a series, and kubectl shows it', async () => {
  const regarding = await client.create(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'repeated', namespace },
  });
  for (let count = 0; count < 10; count += 1) {
    recorder.record({ regarding, type: 'Warning', reason: 'Denied', action: 'Admit', note: `no owner (${count})` });
  }
  await eventually(async () => (await eventsAbout('repeated')).some(({ series }) => series?.count === 10));
  expect(await eventsAbout('repeated')).toHaveLength(1);
  const { stdout } = await cluster.kubectl(['events', '-n', namespace, '--for=configmap/repeated']);
  expect(stdout).toMatch(/Warning\s+Denied\s+ConfigMap\/repeated\s+no owner \(0\)/);
  expect(stdout).toContain('x10');
});

test('an event about a cluster-scoped object is in default, its long note cut to fit', async () => {
  const name = uniqueName('events-cluster');
  const regarding = await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  recorder.record({ regarding, type: 'Normal', reason: 'Adopted', action: 'Adopt', note: 'ä'.repeat(2000) });
  const [event] = await eventually(async () => {
    const found = await eventsAbout(name, 'default');
    return found.length > 0 && found;
  });
  expect(Buffer.byteLength(event?.note ?? '')).toBeLessThanOrEqual(1024);
  expect(event).toMatchObject({ regarding: { kind: 'Namespace', name }, reportingController: 'kidp.test/recorder' });
  await client.delete(namespaces, { name });
});

test('an event for a namespace that is not there is dropped and counted, and the next one gets through', async () => {
  const before = recorder.dropped;
  const lost = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'lost', namespace: uniqueName('nowhere') } };
  recorder.record({ regarding: lost, type: 'Normal', reason: 'Lost', action: 'Lose', note: '' });
  await eventually(() => recorder.dropped === before + 1);
  const regarding = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'system:odd', namespace } };
  recorder.record({
    regarding,
    type: 'Normal',
    reason: 'Found',
    action: 'Find',
    note: 'with a name no event may have',
  });
  await eventually(async () => (await eventsAbout('system:odd')).length === 1);
});
