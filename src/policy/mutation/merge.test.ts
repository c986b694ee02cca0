import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeConfiguration } from './merge.ts';
import { DEDUCED, kubernetesMergeType, type MergeType, mergeTypeOf } from './merge-type.ts';

const POD = kubernetesMergeType({ group: '', version: 'v1', kind: 'Pod' }) as MergeType;
const pod = (fields: object): Record<string, unknown> => ({ apiVersion: 'v1', kind: 'Pod', ...fields });
const spec = (fields: object): Record<string, unknown> => pod({ spec: fields });

describe('mergeConfiguration of a built-in kind', () => {
  it.each([
    {
      object: pod({ metadata: { name: 'x' } }),
      partial: { metadata: { labels: { a: '1' } } },
      is: pod({ metadata: { name: 'x', labels: { a: '1' } } }),
      reason: 'a map that was not there',
    },
    {
      object: spec({ containers: [{ name: 'a', image: 'x' }, { name: 'b' }] }),
      partial: { spec: { containers: [{ name: 'b', image: 'y' }] } },
      is: spec({
        containers: [
          { name: 'a', image: 'x' },
          { name: 'b', image: 'y' },
        ],
      }),
      reason: 'containers by their name',
    },
    {
      object: spec({ containers: [{ name: 'a' }] }),
      partial: { spec: { initContainers: [{ name: 'i' }], containers: [{ name: 'z' }] } },
      is: spec({ containers: [{ name: 'a' }, { name: 'z' }], initContainers: [{ name: 'i' }] }),
      reason: 'one container more, and a list that was not there',
    },
    {
      object: spec({ containers: [{ name: 'a', ports: [{ containerPort: 80 }] }] }),
      partial: { spec: { containers: [{ name: 'a', ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }] }] } },
      is: spec({ containers: [{ name: 'a', ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }] }] }),
      reason: 'a key that is left out has its default',
    },
    {
      object: spec({ containers: [{ name: 'a', env: [{ name: 'X', value: '1' }, { name: 'Y' }] }] }),
      partial: {
        spec: {
          containers: [
            {
              name: 'a',
              env: [
                { name: 'Z', value: '3' },
                { name: 'X', value: '2' },
              ],
            },
          ],
        },
      },
      is: spec({
        containers: [{ name: 'a', env: [{ name: 'Z', value: '3' }, { name: 'X', value: '2' }, { name: 'Y' }] }],
      }),
      reason: 'the order of the partial object counts for what it names',
    },
    {
      object: pod({ metadata: { finalizers: ['a', 'b'] } }),
      partial: { metadata: { finalizers: ['c', 'a'] } },
      is: pod({ metadata: { finalizers: ['c', 'a', 'b'] } }),
      reason: 'a set is united',
    },
    {
      object: spec({ securityContext: { runAsUser: 1 } }),
      partial: { spec: { securityContext: { runAsNonRoot: true } } },
      is: spec({ securityContext: { runAsUser: 1, runAsNonRoot: true } }),
      reason: 'objects field by field',
    },
    {
      object: pod({}),
      partial: { apiVersion: 'x/v1', kind: 'Other' },
      is: pod({}),
      reason: 'it stays the same type of object',
    },
  ])('$reason', ({ object, partial, is }) => {
    const before = structuredClone(object);
    const merged = mergeConfiguration(object, partial, POD);
    expect(merged).toEqual({ object: is });
    expect(object).toEqual(before);
    // What has been merged once is not changed by the same again.
    const again = mergeConfiguration(is, partial, POD);
    expect((again as { object: unknown }).object).toBe(is);
  });

  it.each([
    { partial: { spec: { tolerations: [{ key: 'x' }] } }, error: '.spec.tolerations', reason: 'an atomic list' },
    { partial: { spec: { nodeSelector: { a: 'b' } } }, error: '.spec.nodeSelector', reason: 'an atomic map' },
    {
      partial: { spec: { containers: [{ name: 'a', args: ['x'] }] } },
      error: '.spec.containers[0].args',
      reason: 'an atomic list inside',
    },
    {
      partial: { spec: { replicas: 1 } },
      error: '.spec.replicas: field not declared in schema',
      reason: 'no such field',
    },
    { partial: { spec: { containers: {} } }, error: '.spec.containers: expected list', reason: 'no list' },
    { partial: { spec: [] }, error: '.spec: expected map', reason: 'no object' },
    { partial: { spec: { nodeName: {} } }, error: '.spec.nodeName: expected scalar', reason: 'no plain value' },
    {
      partial: { spec: { containers: [{ name: 'a' }, { name: 'a' }] } },
      error: 'duplicate entries',
      reason: 'one name twice',
    },
  ])('refuses $reason', ({ partial, error }) => {
    expect(mergeConfiguration(spec({ containers: [{ name: 'a' }] }), partial, POD).error).toContain(error);
  });
});

describe('mergeConfiguration of a custom resource', () => {
  const type = mergeTypeOf({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          plain: { type: 'array', items: { type: 'string' } },
          set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
          rules: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['port', 'protocol'],
            items: {
              type: 'object',
              properties: {
                port: { type: 'integer' },
                protocol: { type: 'string', default: 'TCP' },
                to: { type: 'string' },
              },
            },
          },
          anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          size: { 'x-kubernetes-int-or-string': true },
        },
      },
    },
  });
  const thing = (fields: object): Record<string, unknown> => ({
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'x' },
    spec: fields,
  });

  it.each([
    { object: { set: ['a'] }, partial: { set: ['b'] }, is: { set: ['a', 'b'] }, reason: 'a set' },
    {
      object: { rules: [{ port: 1, to: 'x' }] },
      partial: { rules: [{ port: 1, protocol: 'TCP', to: 'y' }] },
      is: { rules: [{ port: 1, protocol: 'TCP', to: 'y' }] },
      reason: 'a map with two keys, one with a default',
    },
    {
      object: { anything: { a: { b: [1] } } },
      partial: { anything: { a: { c: 2 } } },
      is: { anything: { a: { b: [1], c: 2 } } },
      reason: 'what the schema does not say',
    },
    { object: {}, partial: { size: '10%' }, is: { size: '10%' }, reason: 'a number or a text' },
  ])('merges $reason', ({ object, partial, is }) => {
    expect(mergeConfiguration(thing(object), { spec: partial }, type)).toEqual({ object: thing(is) });
  });

  it('rejects changes of an unmarked list, which is atomic', () => {
    expect(mergeConfiguration(thing({}), { spec: { plain: ['x'] } }, type).error).toContain('.spec.plain');
  });

  it('merges the metadata of any object', () => {
    const partial = { metadata: { labels: { a: 'b' }, finalizers: ['f'] } };
    expect(mergeConfiguration(thing({}), partial, type)).toMatchObject({
      object: { metadata: { name: 'x', labels: { a: 'b' }, finalizers: ['f'] } },
    });
    expect(mergeConfiguration(thing({}), { metadata: { label: {} } }, type).error).toContain('.metadata.label');
  });
});

it('merges objects and replaces lists of an unknown type', () => {
  expect(mergeConfiguration({ a: { b: 1 }, l: [1] }, { a: { c: 2 }, l: [2] }, DEDUCED)).toMatchObject({
    object: { a: { b: 1, c: 2 }, l: [2] },
  });
});

it('is idempotent for any configuration', () => {
  const names = fc.shuffledSubarray(['a', 'b', 'c', 'd']);
  const containers = fc
    .tuple(names, names, fc.constantFrom('1', '2'))
    .map(([all, env, value]) => all.map((name) => ({ name, env: env.map((each) => ({ name: each, value })) })));
  const metadata = fc.record({
    finalizers: names,
    labels: fc.dictionary(fc.constantFrom('x', 'y'), fc.constantFrom('1', '2')),
  });
  const partial = fc.record({ metadata, spec: fc.record({ containers }) }, { requiredKeys: [] });
  fc.assert(
    fc.property(partial, partial, (object, configuration) => {
      const before = pod(object);
      const once = mergeConfiguration(before, configuration, POD) as { object: Record<string, unknown> };
      const twice = mergeConfiguration(once.object, configuration, POD) as { object: unknown };
      expect(twice.object).toBe(once.object);
    }),
  );
});
