import { describe, expect, test } from 'vitest';
import type { Json } from '../../policy/index.ts';
import { schemasOf, withDefaults } from './defaults.ts';

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer', default: 3 },
        mode: { type: 'string', nullable: true, default: 'slow' },
        backup: { type: 'object', default: {}, properties: { enabled: { type: 'boolean', default: false } } },
        parts: { type: 'array', items: { type: 'object', properties: { weight: { type: 'integer', default: 1 } } } },
        tags: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { on: { type: 'boolean', default: true } } },
        },
      },
    },
  },
};
const definition: Json = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  spec: {
    group: 'example.com',
    names: { kind: 'Thing', plural: 'things' },
    versions: [{ name: 'v1', schema: { openAPIV3Schema: schema } }],
  },
};
const thing = (spec: unknown): Json => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec });

describe('defaults are set the way the API server does', () => {
  const full = { size: 3, mode: 'slow', backup: { enabled: false } };
  const rows: { reason: string; spec: unknown; filled: unknown }[] = [
    { reason: 'unset fields', spec: {}, filled: full },
    {
      reason: 'existing values are kept',
      spec: { size: 1, mode: 'x', backup: { enabled: true } },
      filled: { size: 1, mode: 'x', backup: { enabled: true } },
    },
    { reason: 'inside an existing object', spec: { backup: {} }, filled: full },
    {
      reason: 'items and values of maps',
      spec: { parts: [{}, { weight: 2 }], tags: { a: {} } },
      filled: { ...full, parts: [{ weight: 1 }, { weight: 2 }], tags: { a: { on: true } } },
    },
    { reason: 'null counts as unset', spec: { size: null }, filled: full },
    { reason: 'also without a default', spec: { parts: null, tags: { a: null } }, filled: { ...full, tags: {} } },
    { reason: 'unless it is nullable', spec: { mode: null }, filled: { ...full, mode: null } },
    { reason: 'unknown fields are kept', spec: { other: [1] }, filled: { ...full, other: [1] } },
    { reason: 'a value of another type is kept', spec: 'x', filled: 'x' },
  ];
  test.each(rows)('$reason', ({ spec, filled }) => {
    expect(withDefaults(thing(spec), schemasOf([definition])).spec).toEqual(filled);
  });

  test('an unchanged object is returned as the same object', () => {
    const object = thing({ size: 1, mode: 'x', backup: { enabled: true }, parts: [{ weight: 1 }] });
    expect(withDefaults(object, schemasOf([definition]))).toBe(object);
    const pod = { apiVersion: 'v1', kind: 'Pod', spec: {} };
    expect(withDefaults(pod, schemasOf([definition]))).toBe(pod);
  });

  test('two objects never share a default', () => {
    const schemas = schemasOf([definition]);
    const [one, other] = [withDefaults(thing({}), schemas), withDefaults(thing({}), schemas)];
    expect((one.spec as Json).backup).not.toBe((other.spec as Json).backup);
  });
});

describe('nulls are removed the way the API server does', () => {
  const rows: { reason: string; object: Json; read: Json }[] = [
    {
      reason: 'fields of any kind, also in lists',
      object: { spec: { securityContext: null, containers: [{ name: 'a', args: null, env: [] }] } },
      read: { spec: { containers: [{ name: 'a', env: [] }] } },
    },
    {
      reason: 'labels become empty',
      object: { metadata: { labels: { a: null } } },
      read: { metadata: { labels: { a: '' } } },
    },
    { reason: 'items of lists stay', object: { spec: { args: [null] } }, read: { spec: { args: [null] } } },
  ];
  test.each(rows)('$reason', ({ object, read }) => {
    const type = { apiVersion: 'v1', kind: 'Pod' };
    expect(withDefaults({ ...type, ...object }, new Map())).toEqual({ ...type, ...read });
  });

  test('in the metadata of a custom resource too', () => {
    const object = {
      ...thing({ size: 1, mode: 'x', backup: { enabled: true } }),
      metadata: { name: 'a', labels: null },
    };
    expect(withDefaults(object, schemasOf([definition])).metadata).toEqual({ name: 'a' });
  });
});

test("the platform's own kinds have defaults", () => {
  const database = { apiVersion: 'platform.company.com/v1', kind: 'Database', spec: { backup: {} } };
  expect(Object.keys(withDefaults(database, new Map()).spec)).not.toEqual(['backup']);
});
