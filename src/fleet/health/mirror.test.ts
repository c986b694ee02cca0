/** One read of a cluster for all its operators: the number of requests, and failures. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import { ApiError, type Client, ConnectionError, type Resource, systemClock } from '../../runtime/index.ts';
import { eventually, FakeClock } from '../../runtime/testing/index.ts';
import { ClusterMirror } from './mirror.ts';
import { podMetrics, pods, workloadResources } from './resources.ts';
import { Semaphore, WatchBudget } from './semaphore.ts';

const widgets: Resource = { group: 'test', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true };
const { Deployment: deployments } = workloadResources;

function stage({ watchFrom = 100, watches = 1, clock = systemClock } = {}) {
  const cluster = memoryCluster([pods, deployments, widgets]);
  for (const namespace of ['a', 'b']) {
    cluster.put(deployments, { metadata: { namespace, name: 'controller' } });
    cluster.put(pods, {
      metadata: {
        namespace,
        name: 'controller-77f-1',
        labels: { 'pod-template-hash': '77f', other: 'label' },
        ownerReferences: [{ kind: 'ReplicaSet', name: 'controller-77f', controller: true }],
      },
      spec: { containers: [{ name: 'manager', image: 'large' }] },
      status: { phase: 'Running' },
    });
  }
  const budget = new WatchBudget(watches);
  const mirror = new ClusterMirror({
    gate: new Semaphore(4),
    watches: budget,
    clock,
    requestMilliseconds: 1_000,
    watchFrom,
  });
  return { cluster, mirror, budget, client: cluster.client as unknown as Client };
}

describe('a mirror', () => {
  it('reads once per namespace and round', async () => {
    const { cluster, mirror, client } = stage();
    await mirror.beginRound(client, 2);
    for (let time = 1; time <= 3; time += 1) {
      expect(await mirror.get(deployments, { namespace: 'a', name: 'controller' })).toBeDefined();
      expect(await mirror.get(deployments, { namespace: 'a', name: 'nobody' })).toBeUndefined();
      expect([...(await mirror.podsByWorkload('a')).keys()]).toEqual(['Deployment/controller']);
    }
    expect(cluster.calls).toEqual(['list deployments a', 'list pods a']);
    await mirror.endRound();
    cluster.remove(deployments, { namespace: 'a', name: 'controller' });
    await mirror.beginRound(client, 2);
    expect(await mirror.get(deployments, { namespace: 'a', name: 'controller' })).toBeUndefined();
  });

  it('asks once for all namespaces where there are many', async () => {
    const { cluster, mirror, client } = stage();
    await mirror.beginRound(client, 17);
    for (const namespace of ['a', 'b']) {
      expect(await mirror.get(deployments, { namespace, name: 'controller' })).toBeDefined();
      expect((await mirror.list(deployments, namespace)).length).toBe(1);
      expect((await mirror.podsByWorkload(namespace)).size).toBe(1);
    }
    expect(cluster.calls).toEqual(['list deployments', 'list pods']);
  });

  it('keeps of a pod only what is looked at', async () => {
    const { mirror, client } = stage();
    await mirror.beginRound(client, 1);
    const [pod] = (await mirror.podsByWorkload('a')).get('Deployment/controller') ?? [];
    expect(pod?.metadata.labels).toEqual({ 'pod-template-hash': '77f' });
    expect(JSON.stringify(pod)).not.toContain('large');
  });

  it('watches what there is much of, within its budget, and until nobody asks', async () => {
    const { cluster, mirror, budget, client } = stage({ watchFrom: 2 });
    cluster.put(widgets, { metadata: { namespace: 'a', name: 'one' } });
    cluster.put(widgets, { metadata: { namespace: 'a', name: 'two' } });
    const count = async () => {
      let seen = 0;
      await mirror.beginRound(client, 17);
      await mirror.eachCustomResource(widgets, () => {
        seen += 1;
      });
      // There is no budget for a second watch.
      await mirror.podsByWorkload('a');
      await mirror.endRound();
      return seen;
    };
    expect(await count()).toBe(2);
    await eventually(() => cluster.watching().length === 1);
    expect(budget.taken).toBe(1);
    cluster.put(widgets, { metadata: { namespace: 'b', name: 'three' } });
    await eventually(async () => (await count()) === 3);
    const before = cluster.calls.filter((call) => call === 'list widgets').length;
    expect(await count()).toBe(3);
    expect(cluster.calls.filter((call) => call === 'list widgets').length).toBe(before);
    await mirror.beginRound(client, 17);
    await mirror.endRound();
    expect(budget.taken).toBe(0);
    await eventually(() => cluster.watching().length === 0);
    await mirror.stop();
  });

  it('sends one request per round to an unreachable cluster', async () => {
    const { cluster, mirror, client } = stage();
    const silent = new ConnectionError({ doing: 'list', failure: 'timeout', message: 'late', hint: '' });
    cluster.refuse('deployments', silent);
    await mirror.beginRound(client, 1);
    await expect(mirror.list(deployments, 'a')).rejects.toBe(silent);
    await expect(mirror.list(pods, 'a')).rejects.toBe(silent);
    expect(cluster.calls).toEqual(['list deployments a']);
    cluster.refuse('deployments', undefined);
    await mirror.beginRound(client, 1);
    expect(await mirror.list(pods, 'a')).toHaveLength(1);
  });

  it('does not soon request missing metrics again', async () => {
    const clock = new FakeClock();
    const { cluster, mirror, client } = stage({ clock });
    const asked = async () => {
      await mirror.beginRound(client, 1);
      await expect(mirror.list(podMetrics, 'a')).rejects.toBeInstanceOf(ApiError);
      return cluster.calls.length;
    };
    expect([await asked(), await asked()]).toEqual([1, 1]);
    clock.jump(600_001);
    expect(await asked()).toBe(2);
  });
});

describe('a semaphore', () => {
  it('admits all, never more at once than its limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.boolean(), { maxLength: 30 }),
        async (limit, works) => {
          const gate = new Semaphore(limit);
          let open = 0;
          let ended = 0;
          const results = await Promise.allSettled(
            works.map((fails) =>
              gate.run(async () => {
                open += 1;
                expect(open).toBeLessThanOrEqual(limit);
                await null;
                open -= 1;
                ended += 1;
                if (fails) throw new Error('on purpose');
              }),
            ),
          );
          expect(ended).toBe(works.length);
          expect(results.map(({ status }) => status === 'rejected')).toEqual(works);
          expect(gate.peak).toBe(Math.min(limit, works.length));
          // No slot is taken any more.
          expect(await gate.run(async () => 'through')).toBe('through');
        },
      ),
      { numRuns: 50 },
    );
  });
});
