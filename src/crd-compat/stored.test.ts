/** The effect of a change on stored objects. */
import { describe, expect, test } from 'vitest';
import { crdOf, specOf, version } from './compare/support/definitions.ts';
import type { Crd } from './crd.ts';
import type { CrdSchema } from './schema.ts';
import { storedObjectsCheck } from './stored.ts';

const widget = (value: unknown, name = 'a'): Readonly<Record<string, unknown>> => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'team' },
  spec: { value },
});

const check = (before: Crd, after: Crd, ...objects: Readonly<Record<string, unknown>>[]) => {
  const found = storedObjectsCheck(before, after);
  for (const object of objects) found.add(object);
  return found.result();
};

const of = (schema: CrdSchema): Crd => crdOf(specOf(schema));

describe('storedObjectsCheck', () => {
  test('counts what breaks, and names the first', () => {
    const result = check(
      of({ type: 'integer' }),
      of({ type: 'integer', maximum: 10 }),
      widget(1, 'a'),
      widget(11, 'b'),
      widget(12, 'c'),
    );
    expect(result).toMatchObject({ checked: 3, broken: 2, first: [{ namespace: 'team', name: 'b' }, { name: 'c' }] });
    expect(result.first[0]?.reasons[0]).toMatch(/^\.spec\.value: .*existing value is grandfathered/);
  });

  test('reads through the preferred version if it changed, and lists the paths without values', () => {
    const v2 = version(specOf({ type: 'integer' }), { name: 'v2', storage: false });
    const before = of({ type: 'string' });
    const result = check(before, crdOf([...before.spec.versions, v2]), widget('secret'));
    expect(result).toMatchObject({ broken: 1, first: [{ name: 'a', paths: ['.spec.value'] }] });
    const webhook = { conversion: { strategy: 'Webhook' } };
    expect(check(before, crdOf([...before.spec.versions, v2], webhook), widget('secret')).broken).toBe(0);
  });

  const rows: readonly {
    reason: string;
    before: CrdSchema;
    after: CrdSchema;
    value: unknown;
    says: readonly RegExp[];
  }[] = [
    {
      reason: 'a rule that lets nothing follow itself',
      before: { type: 'integer' },
      after: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > oldSelf' }] },
      value: 1,
      says: [/^\.spec\.value: .*no update is accepted/],
    },
    {
      reason: 'a rule that lets everything stay',
      before: { type: 'integer' },
      after: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self >= oldSelf' }] },
      value: 1,
      says: [],
    },
    {
      reason: 'a field that is gone',
      before: { type: 'object', properties: { a: { type: 'string' } } },
      after: { type: 'object', properties: {} },
      value: { a: 'x' },
      says: [/^\.spec\.value\.a .*pruned/],
    },
    {
      reason: 'null that gives way',
      before: { type: 'string', nullable: true },
      after: { type: 'string', default: 'x' },
      value: null,
      says: [/^\.spec\.value reads as "x" instead of null/],
    },
    {
      reason: 'a new default adds, and takes nothing',
      before: { type: 'object', properties: {} },
      after: { type: 'object', properties: { a: { type: 'string', default: 'x' } } },
      value: {},
      says: [],
    },
    {
      reason: 'what was refused before is not of this change',
      before: { type: 'integer', maximum: 10 },
      after: { type: 'integer', maximum: 10, description: 'more' },
      value: 11,
      says: [],
    },
    {
      reason: 'a rule',
      before: { type: 'integer' },
      after: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self % 2 == 0' }] },
      value: 3,
      says: [/^\.spec\.value: /],
    },
  ];
  test.each(rows)('$reason', ({ before, after, value, says }) => {
    const { broken, first } = check(of(before), of(after), widget(value));
    expect(broken).toBe(says.length > 0 ? 1 : 0);
    expect(first[0]?.reasons ?? []).toEqual(says.map((text) => expect.stringMatching(text)));
  });

  test('a root that no update gets past', () => {
    const before = crdOf({ type: 'object', properties: { spec: { type: 'object' } } });
    const after = crdOf({ type: 'object', properties: { spec: { type: 'object' } }, required: ['spec'] });
    const { first } = check(before, after, { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' } });
    expect(first[0]?.reasons[0]).toMatch(/no update is accepted/);
  });

  test('a version that is gone, and a scope that is another', () => {
    const before = of({ type: 'integer' });
    const gone = crdOf([version(specOf({ type: 'integer' }), { name: 'v2' })]);
    expect(check(before, gone, widget(1)).first[0]?.reasons).toEqual(['version v1 no longer exists']);
    const cluster = crdOf(specOf({ type: 'integer' }), { scope: 'Cluster' });
    expect(check(before, cluster, widget(1)).first[0]?.reasons).toEqual([
      'spec.scope changed from Namespaced to Cluster',
    ]);
  });

  test('a storage version that names fewer fields', () => {
    const wide = specOf({ type: 'object', properties: { a: { type: 'string' } } });
    const narrow = specOf({ type: 'object', properties: {} });
    const before = crdOf([version(wide), version(narrow, { name: 'v2', storage: false })]);
    const after = crdOf([version(wide, { storage: false }), version(narrow, { name: 'v2' })]);
    expect(check(before, after, widget({ a: 'x' })).first[0]?.reasons).toEqual([
      expect.stringMatching(/^\.spec\.value\.a .*pruned/),
    ]);
  });

  test('what can be scaled from now on must have a number of replicas', () => {
    const schema: CrdSchema = { type: 'object', properties: { replicas: { type: 'integer' } } };
    const scale = { specReplicasPath: '.spec.value.replicas', statusReplicasPath: '.status.replicas' };
    const before = of(schema);
    const after = crdOf([version(specOf(schema), { subresources: { scale } })]);
    const objects = [{ replicas: -1 }, { replicas: 0 }, {}, { replicas: 2 ** 31 }].map((each) => widget(each));
    const { broken, first } = check(before, after, ...objects);
    expect(broken).toBe(2);
    expect(first[0]?.reasons).toEqual([
      '.spec.value.replicas: -1 is not a valid number of replicas (no update is accepted)',
    ]);
    expect(check(after, after, ...objects).broken).toBe(0);
  });
});
