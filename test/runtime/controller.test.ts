/** Small real controllers on the real API server: ConfigMaps labelled `source` each own a copy of themselves. */
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  addFinalizer,
  type Client,
  connect,
  controllerManagedBy,
  controllerReference,
  finalize,
  formatKey,
  isConflict,
  type KubernetesObject,
  labelled,
  loadKubeconfig,
  Manager,
  type Reconcile,
  TerminalError,
} from '../../src/runtime/index.ts';
import { eventually, reconcileOnce } from '../../src/runtime/testing/index.ts';
import { sharedCluster } from '../support/cluster.ts';

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const finalizer = 'kidp.test/cleanup';
const cluster = sharedCluster();
let client: Client;
const ends: (() => Promise<void>)[] = [];

beforeAll(() => {
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(() => client.close());

function source(namespace: string, name: string, data: Record<string, string> = { a: '1' }): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { role: 'source' } }, data };
}

/** Keeps `copy-of-NAME` like NAME. */
const mirror: Reconcile = async (key, { read, client: writer }) => {
  const original = await read.get<ConfigMap>(configMaps, key);
  if (original === undefined || original.metadata.deletionTimestamp !== undefined) return;
  const { namespace, name } = original.metadata;
  await writer.apply<ConfigMap>(
    configMaps,
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: `copy-of-${name}`,
        ...(namespace === undefined ? {} : { namespace }),
        labels: { role: 'copy' },
        ownerReferences: [controllerReference(original)],
      },
      data: original.data ?? {},
    },
    { fieldManager: 'mirror', force: true },
  );
};

function run(manager: Manager): { stop: () => Promise<void> } {
  const abort = new AbortController();
  const ended = manager.start(abort.signal);
  const stop = async () => {
    abort.abort();
    await ended;
  };
  ended.catch(() => {});
  ends.push(() => stop().catch(() => {}));
  return { stop };
}

function controllerOf(namespace: string, reconcile: Reconcile, registry?: Registry): Manager {
  const manager = new Manager({ client, ...(registry === undefined ? {} : { registry }) });
  controllerManagedBy(manager, 'mirror')
    .for<ConfigMap>(configMaps, { namespace, predicates: [labelled({ role: 'source' })] })
    .owns<ConfigMap>(configMaps, { namespace, predicates: [labelled({ role: 'copy' })] })
    .withOptions({ maxConcurrentReconciles: 8, drainMilliseconds: 5_000 })
    .complete(reconcile);
  return manager;
}

describe('a controller', () => {
  test('converges for 200 objects, repairs what is deleted or changed, and follows its source', async () => {
    const namespace = await cluster.uniqueNamespace('mirror');
    const registry = new Registry();
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`);
    // Half of them are there before the controller starts.
    await Promise.all(names.slice(0, 100).map((name) => client.create(configMaps, source(namespace, name))));
    const manager = controllerOf(namespace, mirror, registry);
    const { stop } = run(manager);
    await Promise.all(names.slice(100).map((name) => client.create(configMaps, source(namespace, name))));
    const copies = async () =>
      (await client.list<ConfigMap>(configMaps, { namespace, labelSelector: 'role=copy' })).items;
    await eventually(async () => (await copies()).length === 200, { within: 180_000 });

    await client.delete(configMaps, { namespace, name: 'copy-of-s7' });
    await client.patch(
      configMaps,
      { namespace, name: 'copy-of-s8' },
      { type: 'merge', body: { data: { a: 'wrong' } } },
    );
    await client.patch(configMaps, { namespace, name: 's9' }, { type: 'merge', body: { data: { a: '2' } } });
    const dataOf = async (name: string) => (await client.get<ConfigMap>(configMaps, { namespace, name })).data?.a;
    await eventually(async () => (await dataOf('copy-of-s7')) === '1');
    await eventually(async () => (await dataOf('copy-of-s8')) === '1');
    await eventually(async () => (await dataOf('copy-of-s9')) === '2');

    const text = await registry.metrics();
    expect(text).toMatch(/kidp_reconciliation_duration_seconds_count\{controller="mirror",result="success"\} \d{3}/);
    expect(text).toContain('kidp_workqueue_adds_total{controller="mirror"}');
    expect((await manager.readiness()).healthy).toBe(true);
    await stop();
  });

  test('never runs one key twice at a time, however often it changes', async () => {
    const namespace = await cluster.uniqueNamespace('serial');
    const running = new Set<string>();
    const overlaps: string[] = [];
    const seen = new Map<string, string | undefined>();
    run(
      controllerOf(namespace, async (key, { read }) => {
        const name = formatKey(key);
        if (running.has(name)) overlaps.push(name);
        running.add(name);
        await new Promise((resolve) => setTimeout(resolve, 20));
        seen.set(name, (await read.get<ConfigMap>(configMaps, key))?.data?.a);
        running.delete(name);
      }),
    );
    for (const name of ['x', 'y']) await client.create(configMaps, source(namespace, name));
    for (let value = 0; value < 40; value += 1) {
      const body = { data: { a: `${value}` } };
      await Promise.all(
        ['x', 'y'].map((name) => client.patch(configMaps, { namespace, name }, { type: 'merge', body })),
      );
    }
    await eventually(() => seen.get(`${namespace}/x`) === '39' && seen.get(`${namespace}/y`) === '39');
    expect(overlaps).toEqual([]);
  });

  test('tries again with growing waits what throws, at once or later, and leaves the terminal alone until it changes', async () => {
    const namespace = await cluster.uniqueNamespace('retry');
    const tries = new Map<string, number[]>();
    run(
      controllerOf(namespace, (key, { read, failures }) => {
        const times = tries.get(key.name) ?? [];
        tries.set(key.name, [...times, performance.now()]);
        expect(failures).toBe(key.name === 'terminal' ? 0 : times.length);
        if (key.name === 'thrown' && times.length < 6) throw new Error('thrown at once');
        return (async () => {
          const object = await read.get<ConfigMap>(configMaps, key);
          if (key.name === 'rejected' && times.length < 6) throw new Error('rejected later');
          if (key.name === 'terminal' && object?.data?.a !== 'good') throw new TerminalError('the object is wrong');
        })();
      }),
    );
    for (const name of ['thrown', 'rejected', 'terminal']) await client.create(configMaps, source(namespace, name));
    await eventually(() => tries.has('terminal'));
    await eventually(() => tries.get('thrown')?.length === 7 && tries.get('rejected')?.length === 7);
    const [first = 0, , , , , , last = 0] = tries.get('thrown') ?? [];
    // 5 + 10 + 20 + 40 + 80 + 160 ms at least: a timer fires late on a busy machine, never early.
    expect(last - first).toBeGreaterThan(310);
    expect(tries.get('terminal')).toHaveLength(1);
    await client.patch(configMaps, { namespace, name: 'terminal' }, { type: 'merge', body: { data: { a: 'good' } } });
    await eventually(() => tries.get('terminal')?.length === 2);
  });

  test('comes again when asked to, and after a conflict', async () => {
    const namespace = await cluster.uniqueNamespace('again');
    let asked = 0;
    let conflicts = 0;
    run(
      controllerOf(namespace, async (key, { read, client: writer }) => {
        if (key.name === 'asked') {
          asked += 1;
          return asked < 3 ? { requeueAfterMilliseconds: 50 } : undefined;
        }
        const object = await read.get<ConfigMap>(configMaps, key, { live: true });
        if (object === undefined || object.data?.done === 'yes') return undefined;
        // Someone else is faster, the first time.
        if (conflicts === 0) {
          await client.patch(configMaps, key, { type: 'merge', body: { data: { other: 'was here' } } });
        }
        await writer.update(configMaps, { ...object, data: { ...object.data, done: 'yes' } }).catch((error) => {
          if (isConflict(error)) conflicts += 1;
          throw error;
        });
        return undefined;
      }),
    );
    await client.create(configMaps, source(namespace, 'asked'));
    await client.create(configMaps, source(namespace, 'contended'));
    await eventually(() => asked === 3);
    const contended = await eventually(async () => {
      const object = await client.get<ConfigMap>(configMaps, { namespace, name: 'contended' });
      return object.data?.done === 'yes' ? object : false;
    });
    expect(conflicts).toBeGreaterThan(0);
    expect(contended.data).toEqual({ a: '1', other: 'was here', done: 'yes' });
  });

  test('aborts a reconcile that never ends, keeps it from writing, and goes on', async () => {
    const namespace = await cluster.uniqueNamespace('stuck');
    const late: unknown[] = [];
    let tries = 0;
    const manager = new Manager({ client });
    controllerManagedBy(manager, 'stuck')
      .for(configMaps, { namespace, predicates: [labelled({ role: 'source' })] })
      .withOptions({ timeoutMilliseconds: 2_000, maxConcurrentReconciles: 1 })
      .complete((key, { client: writer, signal }) => {
        tries += 1;
        if (tries > 1) return writer.create(configMaps, source(namespace, 'made')).then(() => {});
        // It does not listen, and tries to write after its time.
        return new Promise<void>(() => {
          signal.addEventListener('abort', () => {
            writer.create(configMaps, source(namespace, 'late')).then(
              () => late.push('written'),
              (error) => late.push(error.code),
            );
          });
          expect(key.name).toBe('only');
        });
      });
    run(manager);
    await client.create(configMaps, source(namespace, 'only'));
    await eventually(
      async () => (await client.list(configMaps, { namespace, labelSelector: 'role=source' })).items.length === 2,
    );
    expect(late).toEqual(['connection/aborted']);
  });

  test('drains: what is under way ends, what waits does not begin', async () => {
    const namespace = await cluster.uniqueNamespace('drain');
    const began: string[] = [];
    const ended: string[] = [];
    const manager = new Manager({ client });
    controllerManagedBy(manager, 'slow')
      .for(configMaps, { namespace, predicates: [labelled({ role: 'source' })] })
      .withOptions({ maxConcurrentReconciles: 2 })
      .complete(async (key, { client: writer }) => {
        began.push(key.name);
        await new Promise((resolve) => setTimeout(resolve, 400));
        await writer.create(configMaps, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { namespace, name: `end-of-${key.name}` },
        });
        ended.push(key.name);
      });
    const { stop } = run(manager);
    for (const name of ['a', 'b', 'c', 'd']) await client.create(configMaps, source(namespace, name));
    await eventually(() => began.length >= 2, { every: 5 });
    await stop();
    expect(ended.length).toBeGreaterThanOrEqual(2);
    expect(ended.sort()).toEqual([...began].sort());
    const before = began.length;
    await client.create(configMaps, source(namespace, 'e'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(began).toHaveLength(before);
  });
});

describe('finalizers', () => {
  test('ours stays while cleaning up fails, goes when it succeeds, and leaves others alone', async () => {
    const namespace = await cluster.uniqueNamespace('finalizer');
    let broken = true;
    let cleanups = 0;
    run(
      controllerOf(namespace, async (key, { read, client: writer }) => {
        const object = await read.get<ConfigMap>(configMaps, key, { live: true });
        if (object === undefined) return;
        const { state } = await finalize(writer, configMaps, object, finalizer, async () => {
          cleanups += 1;
          if (broken) throw new Error('the cloud is away');
        });
        if (state === 'untouched') await addFinalizer(writer, configMaps, object, finalizer);
      }),
    );
    const original = source(namespace, 'guarded');
    original.metadata.finalizers = ['kidp.test/of-another'];
    await client.create(configMaps, original);
    const finalizers = async () =>
      (await client.get(configMaps, { namespace, name: 'guarded' })).metadata.finalizers ?? [];
    await eventually(async () => (await finalizers()).includes(finalizer));
    await client.delete(configMaps, { namespace, name: 'guarded' });
    await eventually(() => cleanups >= 3);
    expect(await finalizers()).toEqual(['kidp.test/of-another', finalizer]);
    broken = false;
    await eventually(async () => !(await finalizers()).includes(finalizer));
    expect(await finalizers()).toEqual(['kidp.test/of-another']);
    await client.patch(
      configMaps,
      { namespace, name: 'guarded' },
      { type: 'json', body: [{ op: 'remove', path: '/metadata/finalizers' }] },
    );
    await eventually(
      async () => (await client.list(configMaps, { namespace, labelSelector: 'role=source' })).items.length === 0,
    );
  });

  test('a stale object is a conflict, and nothing is lost', async () => {
    const namespace = await cluster.uniqueNamespace('stale');
    const stale = await client.create(configMaps, source(namespace, 'a'));
    const first = await addFinalizer(client, configMaps, stale, finalizer);
    expect(first.metadata.finalizers).toEqual([finalizer]);
    await expect(addFinalizer(client, configMaps, stale, 'kidp.test/second')).rejects.toSatisfy(isConflict);
    const second = await addFinalizer(client, configMaps, first, 'kidp.test/second');
    expect(second.metadata.finalizers).toEqual([finalizer, 'kidp.test/second']);
    expect(await addFinalizer(client, configMaps, second, finalizer)).toBe(second);
    await client.patch(configMaps, { namespace, name: 'a' }, { type: 'merge', body: { metadata: { finalizers: [] } } });
  });
});

test('a reconciler can be run once by hand, against a given client', async () => {
  const namespace = await cluster.uniqueNamespace('once');
  await client.create(configMaps, source(namespace, 'a', { a: 'by hand' }));
  expect(await reconcileOnce(mirror, { namespace, name: 'a' }, { client })).toBeUndefined();
  expect((await client.get<ConfigMap>(configMaps, { namespace, name: 'copy-of-a' })).data).toEqual({ a: 'by hand' });
});
