import { describe, expect, test } from 'vitest';
import type { Client } from './client.ts';
import { discover, resourceMapping, servedByDefinition } from './discovery.ts';

const answers: Record<string, unknown> = {
  '/api': { versions: ['v1'] },
  '/apis': {
    groups: [
      { name: 'apps', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
      {
        name: 'autoscaling',
        versions: [{ version: 'v2' }, { version: 'v1' }],
        preferredVersion: { version: 'v2' },
      },
      { name: 'metrics.k8s.io', versions: [{ version: 'v1' }], preferredVersion: { version: 'v1' } },
    ],
  },
  '/api/v1': {
    resources: [
      { name: 'pods', kind: 'Pod', namespaced: true, verbs: ['list', 'watch'] },
      { name: 'pods/exec', kind: 'PodExecOptions', namespaced: true, verbs: ['create'] },
      { name: 'namespaces', kind: 'Namespace', namespaced: false, verbs: ['list'] },
    ],
  },
  '/apis/apps/v1': { resources: [{ name: 'deployments', kind: 'Deployment', namespaced: true, verbs: ['list'] }] },
  '/apis/autoscaling/v1': { resources: [{ name: 'hpas', kind: 'HPA', namespaced: true, verbs: ['list'] }] },
  '/apis/autoscaling/v2': { resources: [{ name: 'hpas', kind: 'HPA', namespaced: true, verbs: ['list'] }] },
};

const client = {
  request: async ({ path }: { path: string }) => ({
    status: path in answers ? 200 : 503,
    headers: {},
    warnings: [],
    text: JSON.stringify(answers[path] ?? {}),
  }),
} as unknown as Client;

describe('discovery', () => {
  test('finds kinds with their plurals and subresources, and goes on where one group is away', async () => {
    const { resources, failed } = await discover(client);
    expect(failed).toEqual(['metrics.k8s.io/v1']);
    const mapping = resourceMapping(resources);
    expect(mapping.byKind('', 'Pod')).toMatchObject({ plural: 'pods', namespaced: true, subresources: ['exec'] });
    expect(mapping.byPlural('apps', 'deployments', 'v1')?.kind).toBe('Deployment');
    expect(mapping.byKind('', 'PodExecOptions')).toBeUndefined();
  });

  test.each([
    { reason: 'leaves out a group that was removed meanwhile', path: '/apis', later: { groups: [] }, kinds: [] },
    {
      reason: 'asks again for a group that does not answer yet',
      path: '/apis/metrics.k8s.io/v1',
      later: { resources: [{ name: 'nodes', kind: 'NodeMetrics', namespaced: false, verbs: ['get'] }] },
      kinds: ['NodeMetrics'],
    },
  ])('$reason', async ({ path: changed, later, kinds }) => {
    let asked = 0;
    const changing = {
      request: async ({ path }: { path: string }) =>
        path === changed && ++asked > 1
          ? { status: 200, headers: {}, warnings: [], text: JSON.stringify(later) }
          : client.request({ method: 'GET', path }),
    } as unknown as Client;
    const { resources, failed } = await discover(changing, { retries: true });
    expect(failed).toEqual([]);
    expect(resources.filter(({ group }) => group === 'metrics.k8s.io').map(({ kind }) => kind)).toEqual(kinds);
  });

  test.each([
    { reason: 'the preferred version where none is named', version: undefined, expected: 'v2' },
    { reason: 'the version that is named', version: 'v1', expected: 'v1' },
    { reason: 'nothing for a version that is not served', version: 'v9', expected: undefined },
  ])('gives $reason', async ({ version, expected }) => {
    const mapping = resourceMapping((await discover(client)).resources);
    expect(mapping.byKind('autoscaling', 'HPA', version)?.version).toBe(expected);
  });

  test('rejects where the groups cannot be had', async () => {
    const away = { request: async () => ({ status: 500, headers: {}, warnings: [], text: '' }) } as unknown as Client;
    await expect(discover(away)).rejects.toThrow('500');
  });
});

describe('what a definition makes the server serve', () => {
  const spec = {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      { name: 'v1alpha1', served: true },
      { name: 'v1', served: true, subresources: { status: {} } },
      { name: 'v1beta1', served: false },
      { name: 'v2beta1', served: true },
    ],
  };
  const established = { conditions: [{ type: 'Established', status: 'True' }] };

  test('is each version that is served, the stable one preferred', () => {
    expect(servedByDefinition({ spec, status: established })).toMatchObject([
      { version: 'v1alpha1', preferred: false },
      { version: 'v1', preferred: true, subresources: ['status'], namespaced: true, plural: 'things' },
      { version: 'v2beta1', preferred: false },
    ]);
  });

  test.each([
    { reason: 'is not established', definition: { spec } },
    { reason: 'says nothing', definition: {} },
  ])('is nothing where it $reason', ({ definition }) => {
    expect(servedByDefinition(definition)).toEqual([]);
  });
});
