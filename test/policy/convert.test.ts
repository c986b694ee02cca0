/** The real API server accepts the native policies that `kidp convert` writes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { convertPolicies, type Json } from '../../src/policy/index.ts';
import { sharedCluster } from '../support/cluster.ts';

const root = join(import.meta.dirname, '../../policies');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .sort();

/** A policy with all fields that have no native equivalent and become expressions. */
const WITH_EVERYTHING: Json = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name: 'everything' },
  spec: {
    description: 'Whatever a Policy can say.',
    selector: {
      resourceTypes: ['*', 'apps/*/Deployment/scale', 'core/v1/Pod/exec', '*.example.com/v1/Thing'],
      matchExpressions: [{ key: 'a', operator: 'Exists' }],
      namespaces: ['team-*', 'other'],
      namespaceSelector: { matchLabels: { env: 'prod' } },
      names: ['a?', 'b'],
      operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
      users: ['*@example.com', 'root'],
      groups: ['devs', 'team:*'],
      serviceAccounts: ['flux-*/*'],
    },
    exclude: {
      resourceTypes: ['apps/v1/Deployment'],
      operations: ['DELETE'],
      matchExpressions: [
        { key: 'x', operator: 'In', values: ['1', '2'] },
        { key: 'y', operator: 'NotIn', values: ['1'] },
        { key: 'z', operator: 'DoesNotExist' },
      ],
      names: ['*-legacy'],
    },
    matchConditions: [{ name: 'a name with spaces', expression: 'has(metadata.name)' }],
    params: { apiVersion: 'v1', kind: 'ConfigMap', selector: { matchLabels: { p: 'q' } }, namespace: 'config' },
    variables: [{ name: 'labels', expression: 'metadata.?labels.orValue({})' }],
    rules: [
      { name: 'deny', expression: "variables.labels.all(key,\n key != 'bad')", reason: 'Forbidden' },
      { name: 'warn', expression: 'spec.enabled', messageExpression: 'spec.message', enforcement: 'Warn' },
      {
        name: 'audit',
        expression: 'params.data.size() > 0',
        message: 'two\nlines',
        enforcement: 'Audit',
        auditAnnotations: [{ key: 'kind', valueExpression: 'kind' }],
      },
    ],
    mutations: [
      {
        patchType: 'ApplyConfiguration',
        applyConfiguration: { expression: "Object{metadata: Object.metadata{labels: {'of': metadata.name}}}" },
      },
      { patchType: 'JSONPatch', jsonPatch: { expression: "[JSONPatch{op: 'add', path: '/x', value: kind}]" } },
    ],
    reinvocationPolicy: 'IfNeeded',
  },
};

const sources = [
  { file: 'a policy with everything', objects: [WITH_EVERYTHING] },
  ...files.map((file) => ({
    file,
    objects: parseAllDocuments(readFileSync(join(root, file), 'utf8')).map((each) => each.toJS() as Json),
  })),
];

describe('kidp convert --to native', () => {
  const converted = sources.map(({ file, objects }) => ({
    file,
    ...convertPolicies(objects, { to: 'native', now: Date.now() }),
  }));

  test.each(converted)('converts $file without errors', ({ notes }) => {
    expect(notes.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('the API server accepts all converted policies', async () => {
    const objects = converted.flatMap((each) => each.objects);
    expect(objects.length).toBeGreaterThan(20);
    const { code, stderr } = await sharedCluster().kubectl(['create', '--dry-run=server', '-f', '-'], {
      input: [...objects],
    });
    expect(code, stderr).toBe(0);
  });
});
