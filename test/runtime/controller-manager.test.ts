/** The manager: what starts and stops when, and what it makes of a lost lease. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Client,
  connect,
  controllerManagedBy,
  FenceError,
  isNotFound,
  loadKubeconfig,
  Manager,
  type Runnable,
} from '../../src/runtime/index.ts';
import { type Lease, leases } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster } from '../support/cluster.ts';

const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
// Long, because no test here waits for a lease to end, and a loaded machine must not lose one by chance.
const timing = { leaseDurationMilliseconds: 60_000, renewDeadlineMilliseconds: 40_000, retryPeriodMilliseconds: 300 };
const cluster = sharedCluster();
let client: Client;
let leaseClient: Client;
let namespace: string;

beforeAll(async () => {
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  leaseClient = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  namespace = await cluster.uniqueNamespace('manager');
});
afterAll(async () => {
  await client.close();
  await leaseClient.close();
});

function part(name: string, leaderOnly: boolean, diary: string[]): Runnable {
  return {
    name,
    leaderOnly,
    async start(signal) {
      diary.push(`${name} starts`);
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      diary.push(`${name} stops`);
    },
  };
}

test('starts in order, waits for leadership with what only the leader does, and stops in reverse', async () => {
  const lease = { namespace, name: 'in-order' };
  const diary: string[] = [];
  const stop = new AbortController();
  const managers = ['a', 'b'].map((identity) => {
    const manager = new Manager({ client, leaderElection: { client: leaseClient, lease, identity, ...timing } });
    manager.add(part(`${identity}: webhook`, false, diary));
    manager.add(part(`${identity}: leader`, true, diary));
    return manager;
  });
  const [first, second] = managers;
  if (first === undefined || second === undefined) throw new Error('there are two');
  const stopFirst = new AbortController();
  const firstEnded = first.start(stopFirst.signal);
  await eventually(() => diary.includes('a: leader starts'));
  const secondEnded = second.start(stop.signal);
  await eventually(() => diary.includes('b: webhook starts'));
  expect((await first.readiness()).healthy).toBe(true);
  first.addHealthCheck('broken', () => {
    throw new Error('on purpose');
  });
  expect(await first.health()).toEqual({ healthy: false, checks: [{ name: 'broken', error: 'on purpose' }] });

  stopFirst.abort();
  await firstEnded;
  await eventually(() => diary.includes('b: leader starts'));
  expect(diary).toEqual([
    'a: webhook starts',
    'a: leader starts',
    'b: webhook starts',
    'a: leader stops',
    'a: webhook stops',
    'b: leader starts',
  ]);
  stop.abort();
  await secondEnded;
  expect((await client.get<Lease>(leases, lease)).spec?.holderIdentity).toBeUndefined();
});

test('stops with an error where the lease is lost, and its controllers write nothing more', async () => {
  const lease = { namespace, name: 'lost' };
  const manager = new Manager({ client, leaderElection: { client: leaseClient, lease, ...timing } });
  const errors: unknown[] = [];
  let reconciling = 0;
  controllerManagedBy(manager, 'writer')
    .for(configMaps, { namespace, labelSelector: 'role=work' })
    .complete(async (key, { client: writer }) => {
      reconciling += 1;
      await eventually(() => manager.election?.signal.aborted === true, { every: 5 });
      const late = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: `late-${key.name}` } };
      await writer.create(configMaps, late).catch((error) => errors.push(error));
    });
  const ended = manager.start(new AbortController().signal);
  ended.catch(() => {});
  const work = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: 'w', labels: { role: 'work' } } };
  await client.create(configMaps, work);
  await eventually(() => reconciling === 1);
  await client.patch(leases, lease, { type: 'merge', body: { spec: { holderIdentity: 'an intruder' } } });
  await expect(ended).rejects.toBeInstanceOf(FenceError);
  await eventually(() => errors.length === 1);
  await expect(client.get(configMaps, { namespace, name: 'late-w' })).rejects.toSatisfy(isNotFound);
});

test('stops everything where one part fails, and says with what', async () => {
  const diary: string[] = [];
  const manager = new Manager({ client });
  manager.add(part('webhook', false, diary));
  manager.add({ name: 'broken', leaderOnly: true, start: () => Promise.reject(new Error('the port is taken')) });
  await expect(manager.start(new AbortController().signal)).rejects.toThrow('the port is taken');
  expect(diary).toEqual(['webhook starts', 'webhook stops']);
});

test('shares one cache between controllers that watch the same, and refuses to read what nobody watches', async () => {
  let watches = 0;
  const counting: Client = {
    ...client,
    watch(resource, options) {
      watches += 1;
      return client.watch(resource, options);
    },
  };
  const manager = new Manager({ client: counting });
  const selection = { namespace, labelSelector: 'role=shared' };
  const seen: string[] = [];
  for (const name of ['one', 'two']) {
    controllerManagedBy(manager, name)
      .for(configMaps, { ...selection, indexes: { [name]: () => [name] } })
      .complete(async (_key, { read }) => {
        seen.push(...read.store(configMaps, selection).indexValues(name));
        const secrets = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
        await expect(read.list(secrets)).rejects.toMatchObject({ code: 'config/not-watched' });
        expect((await read.list(configMaps, { namespace, labels: { role: 'shared' } })).length).toBe(1);
        expect((await read.list(configMaps, { namespace, labels: { role: 'shared' }, live: true })).length).toBe(1);
      });
  }
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  const metadata = { namespace, name: 'shared', labels: { role: 'shared' } };
  await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  await eventually(() => seen.includes('one') && seen.includes('two'));
  expect(watches).toBe(1);
  stop.abort();
  await ended;
});
