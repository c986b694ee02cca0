import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { rbac } from './run.ts';

const policy = (selector: object, more: object = {}) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name: 'p' },
  spec: { selector, rules: [{ name: 'rule', expression: 'true' }], ...more },
});

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'indices.search.example.com' },
  spec: {
    group: 'search.example.com',
    names: { kind: 'Index', plural: 'indices' },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

async function run(objects: readonly object[], includeSecrets = false) {
  let [out, err] = ['', ''];
  const text = objects.map((each) => JSON.stringify(each)).join('\n---\n');
  const streams = {
    in: Readable.from([text]),
    out: { write: (more: string) => (out += more) },
    err: { write: (more: string) => (err += more) },
  };
  await rbac({ filename: ['-'], name: 'r', includeSecrets }, streams as never);
  return {
    resources: [...out.matchAll(/apiGroups: \[(.*)\]\n {2}resources: \[(.*)\]/g)].map(([, g, r]) => `${g} ${r}`),
    err,
  };
}

test.each([
  {
    reason: 'a built-in kind',
    objects: [policy({ resourceTypes: ['apps/v1/Deployment'] })],
    want: ['apps deployments'],
  },
  {
    reason: 'a kind of the platform',
    objects: [policy({ resourceTypes: ['Topic'] })],
    want: ['platform.company.com topics'],
  },
  {
    reason: 'an unknown kind, by the plural rule of Kubernetes',
    objects: [policy({ resourceTypes: ['example.com/v1/Policy'] })],
    want: ['example.com policies'],
  },
  {
    reason: 'a kind whose CRD is among the files',
    objects: [policy({ resourceTypes: ['search.example.com/v1/Index'] }), definition],
    want: ['search.example.com indices'],
  },
  { reason: 'a CRD alone, for the CRD gate', objects: [definition], want: ['search.example.com indices'] },
  {
    reason: 'params and context',
    objects: [
      policy(
        { resourceTypes: ['Topic'] },
        {
          params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'limits', namespace: 'default' },
          context: [{ name: 'nodes', apiVersion: 'v1', kind: 'Node' }],
        },
      ),
    ],
    want: ['"" configmaps, nodes', 'platform.company.com topics'],
  },
  {
    reason: 'only DELETE: stored objects are not evaluated, so nothing is read',
    objects: [policy({ resourceTypes: ['core/v1/Pod'], operations: ['DELETE'] })],
    want: [],
  },
])('$reason', async ({ objects, want }) => {
  expect(await run(objects)).toEqual({ resources: want, err: '' });
});

test('a wildcard covers the kinds of its group, without Secrets, and says so', async () => {
  const all = [policy({ resourceTypes: ['core/v1/*'] })];
  const without = await run(all);
  expect(without.resources[0]).toContain('configmaps');
  expect(without.resources[0]).not.toContain('secrets');
  expect(without.err).toContain('Policy p reads Secrets, which are left out');
  expect((await run(all, true)).resources[0]).toContain('secrets');
});
