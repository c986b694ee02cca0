import { afterEach, describe, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { ObjectQuery } from '../../policy/index.ts';
import { ApiError, silentLogger } from '../../runtime/index.ts';
import { eventually } from '../../runtime/testing/index.ts';
import { KindWatches } from './watches.ts';

const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const nodes = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
const of = (more: Partial<ObjectQuery> = {}): ObjectQuery => ({ apiVersion: 'v1', kind: 'ConfigMap', ...more });

const running: KindWatches[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});

function watch(served = [configMaps, nodes]) {
  const cluster = memoryCluster(served);
  const changes: string[] = [];
  const watches = new KindWatches({
    client: cluster.client,
    log: silentLogger,
    resourceOf: (_, kind) => served.find((each) => each.kind === kind),
    changed: (_, kind, what) => void changes.push(`${kind} ${what}`),
  });
  running.push(watches);
  const put = (name: string, namespace = 'a', labels: Record<string, string> = {}) =>
    cluster.put(configMaps, { metadata: { name, namespace, labels } });
  const synced = (need: ObjectQuery) => eventually(() => watches.state(need) === 'synced');
  const names = (query: ObjectQuery) =>
    watches.find(query)?.map((each) => (each.metadata as { name: string }).name) ?? 'unknown';
  return { cluster, watches, changes, put, synced, names };
}

describe('what is found', () => {
  test.each([
    { reason: 'all in the order of namespace and name', query: of(), expected: ['c', 'd', 'a', 'b'] },
    { reason: 'a namespace', query: of({ namespace: 'n2' }), expected: ['a', 'b'] },
    { reason: 'a name in all namespaces', query: of({ name: 'd' }), expected: ['d'] },
    { reason: 'one object', query: of({ namespace: 'n2', name: 'b' }), expected: ['b'] },
    { reason: 'labels', query: of({ selector: { matchLabels: { tier: 'x' } } }), expected: ['c', 'a'] },
    {
      reason: 'an expression',
      query: of({ selector: { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['x'] }] } }),
      expected: ['d', 'b'],
    },
    { reason: 'nothing', query: of({ name: 'z' }), expected: [] },
  ])('is $reason', async ({ query, expected }) => {
    const { watches, put, synced, names } = watch();
    put('b', 'n2', { tier: 'y' });
    put('a', 'n2', { tier: 'x' });
    put('d', 'n1');
    put('c', 'n1', { tier: 'x' });
    watches.want([of()]);
    await synced(of());
    expect(names(query)).toEqual(expected);
    expect(watches.find(query)).toBe(watches.find(query));
  });

  test('follows what changes', async () => {
    const { watches, put, synced, names, cluster } = watch();
    watches.want([of()]);
    await synced(of());
    expect(names(of())).toEqual([]);
    put('new');
    await eventually(() => names(of()).includes('new'));
    cluster.remove(configMaps, { namespace: 'a', name: 'new' });
    await eventually(() => names(of()).length === 0);
  });

  test('of a kind without namespaces is found from any', async () => {
    const { watches, synced, cluster, names } = watch();
    cluster.put(nodes, { metadata: { name: 'one' } });
    const need = { apiVersion: 'v1', kind: 'Node', name: 'one' };
    watches.want([need]);
    await synced(need);
    expect(names({ ...need, namespace: 'team' })).toEqual(['one']);
  });

  test('is unknown where nobody has declared it, or more than was declared is asked', async () => {
    const { watches, synced, names } = watch();
    expect(names(of())).toBe('unknown');
    watches.want([of({ name: 'limits' })]);
    await synced(of({ name: 'limits' }));
    expect(names(of({ namespace: 'a' }))).toBe('unknown');
  });
});

describe('watches', () => {
  test('are narrow while few ask, and one for all when many do, with no gap between', async () => {
    const { watches, synced, put, cluster, names } = watch();
    put('n0');
    const needs = Array.from({ length: 5 }, (_, index) => of({ name: `n${index}` }));
    watches.want(needs.slice(0, 4));
    for (const need of needs.slice(0, 4)) await synced(need);
    expect(watches.size).toBe(4);
    watches.want(needs);
    expect(names(of({ name: 'n0' }))).toEqual(['n0']);
    await eventually(() => watches.size === 1);
    expect(names(of({ name: 'n0' }))).toEqual(['n0']);
    watches.want([]);
    await eventually(() => cluster.watching().length === 0);
    expect(watches.size).toBe(0);
  });

  test('of a kind that comes later start when it does', async () => {
    const served = [nodes];
    const { watches, synced } = watch(served);
    watches.want([of()]);
    expect(watches.state(of())).toBe('unserved');
    served.push(configMaps);
    watches.refresh();
    expect(watches.state(of())).toBe('pending');
    await synced(of());
  });

  test('that are refused are failing, and heal', async () => {
    const { watches, cluster, synced, changes } = watch();
    cluster.refuse('configmaps', new ApiError({ doing: 'list', status: 403, reason: 'Forbidden', message: 'no' }));
    watches.want([of()]);
    await eventually(() => watches.state(of()) === 'failing');
    expect(changes).toContain('ConfigMap state');
    expect(watches.find(of())).toBeUndefined();
    cluster.refuse('configmaps', undefined);
    await synced(of());
  });
});
