import { describe, expect, test } from 'vitest';
import { type Compiled, compile } from '../compile.ts';
import { estimate } from '../cost/estimate.ts';
import { environment } from '../environments.ts';
import { typeName } from '../types.ts';
import { CelError, Double, Duration, type Value } from '../values.ts';
import { escapeProperty } from './escape.ts';
import type { Schema } from './schema.ts';
import { typesFromSchema } from './types.ts';
import { valueBySchema } from './values.ts';

const text = (more: Schema = {}): Schema => ({ type: 'string', ...more });
const schema: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['name'],
      properties: {
        name: text({ maxLength: 63 }),
        any: text(),
        replicas: { type: 'integer' },
        ratio: { type: 'number' },
        maybe: { type: 'integer', nullable: true },
        port: { 'x-kubernetes-int-or-string': true },
        list: { type: 'array', maxItems: 10, items: text({ maxLength: 20 }) },
        open: { type: 'array', items: { type: 'object', required: ['a'], properties: { a: text() } } },
        labels: { type: 'object', additionalProperties: text({ maxLength: 63 }) },
        since: text({ format: 'date-time' }),
        every: text({ format: 'duration' }),
        raw: text({ format: 'byte' }),
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        'foo-bar': text(),
        template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { kind: text() } },
        set: { type: 'array', items: text(), 'x-kubernetes-list-type': 'set' },
        byName: {
          type: 'array',
          items: { type: 'object', properties: { name: text(), value: { type: 'integer' } } },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      },
    },
  },
};

const made = typesFromSchema(schema, { name: 'Thing' });
const env = environment('kubernetes-1.36', { variables: { self: made.type }, types: [made.provider] });

describe('types', () => {
  test.each([
    { source: 'self.spec.replicas', type: 'int' },
    { source: 'self.spec.ratio', type: 'double' },
    { source: 'self.spec.maybe', type: 'wrapper(int)' },
    { source: 'self.spec.maybe == null || self.spec.maybe > 1', type: 'bool' },
    { source: 'self.spec.port', type: 'dyn' },
    { source: 'self.spec.list', type: 'list(string)' },
    { source: 'self.spec.open[0].a', type: 'string' },
    { source: 'self.spec.labels', type: 'map(string, string)' },
    { source: 'self.spec.since', type: 'timestamp' },
    { source: 'self.spec.every', type: 'duration' },
    { source: 'self.spec.raw', type: 'bytes' },
    { source: 'self.spec.free.anything.at.all', type: 'dyn' },
    { source: 'self.spec.foo__dash__bar', type: 'string' },
    { source: 'self.spec.template.metadata.name', type: 'string' },
    { source: 'self.metadata.name', type: 'string' },
  ])('$source is $type', ({ source, type }) => {
    const compiled = compile(source, env);
    expect(compiled.issues).toEqual([]);
    expect(typeName((compiled as Compiled).type)).toBe(type);
  });

  test.each([
    { source: 'self.spec.replicsa', says: "undefined field 'replicsa', did you mean 'replicas'?", column: 10 },
    { source: 'self.spec.name == 3', says: '(string, int)', column: 16 },
    { source: 'self.spec.list[0].x', says: 'field selection', column: 18 },
    { source: 'self.spec.open.all(o, o.b == "")', says: "undefined field 'b'", column: 24 },
  ])('$source is refused', ({ source, says, column }) => {
    const { issues } = compile(source, env);
    expect(issues[0]).toMatchObject({ column });
    expect(issues[0]?.message).toContain(says);
  });

  test('hidden follows the validation rules of CRDs', () => {
    const hidden = typesFromSchema(schema, { name: 'Thing', unknownFields: 'hidden' });
    const strict = environment('kubernetes-1.36', { variables: { self: hidden.type }, types: [hidden.provider] });
    expect(compile('self.spec.free.anything', strict).issues).not.toEqual([]);
  });

  test('references are followed, including recursive ones', () => {
    const node: Schema = {
      type: 'object',
      properties: { next: { allOf: [{ $ref: '#/Node' }] }, value: { type: 'integer' } },
    };
    const types = typesFromSchema(node, {
      name: 'Node',
      resource: false,
      resolve: (name) => (name === '#/Node' ? node : undefined),
    });
    const recursive = environment('kubernetes-1.36', { variables: { self: types.type }, types: [types.provider] });
    expect(compile('self.next.next.next.value + 1', recursive).issues).toEqual([]);
    expect(compile('self.next.next.valeu', recursive).issues[0]?.message).toContain("'value'");
  });
});

// The numbers are Kubernetes' own: test/cel asks it for more of them.
describe('estimates', () => {
  test.each([
    { source: "self.spec.name == 'x'", min: 4, max: 4 },
    { source: 'self.spec.any == self.spec.name', min: 7, max: 32 },
    { source: "self.spec.name.contains('abc')", min: 3, max: 29 },
    { source: "self.spec.any.matches('^a.*b$')", min: 5, max: 629149 },
    { source: "self.spec.list.all(x, x.startsWith('a'))", min: 4, max: 54 },
    { source: 'self.spec.list.all(x, self.spec.list.exists(y, y == x))', min: 4, max: 1474 },
    { source: 'self.spec.list.isSorted()', min: 3, max: 93 },
    { source: 'self.spec.labels.all(k, k.size() < 5)', min: 4, max: 2359294 },
  ])('$source costs $min…$max', ({ source, min, max }) => {
    expect(estimate((compile(source, env) as Compiled).checked, made.bounds('self'))).toEqual({ min, max });
  });
});

describe('values', () => {
  const see = (spec: Value) => valueBySchema({ spec }, made);
  const run = (source: string, spec: Value) => compile(source, env).evaluate?.({ self: see(spec) as Value });

  test('formats become types, names are escaped', () => {
    const value = see({ name: 'n', every: '1h', ratio: 2, 'foo-bar': 'x', raw: 'aGk=' });
    expect(value).toEqual({
      spec: {
        name: 'n',
        every: new Duration(3_600_000_000_000n),
        ratio: new Double(2),
        foo__dash__bar: 'x',
        raw: new Uint8Array([104, 105]),
      },
    });
  });

  test('data that does not match the schema is an error', () => {
    expect(see({ name: 'n', since: 'yesterday' })).toBeInstanceOf(CelError);
    expect(see({ name: 3 })).toBeInstanceOf(CelError);
  });

  test.each([
    { reason: 'sets are equal in any order', source: "self.spec.set == ['b', 'a']", value: true },
    { reason: 'sets add what is new', source: "(self.spec.set + ['a', 'c']).size() == 3", value: true },
    { reason: 'maps by key replace', source: '(self.spec.byName + self.spec.byName).size() == 2', value: true },
    { reason: 'other lists keep their order', source: "self.spec.list == ['b', 'a']", value: false },
  ])('$reason', ({ source, value }) => {
    const byName = [
      { name: 'x', value: 1 },
      { name: 'y', value: 2 },
    ];
    expect(run(source, { name: 'n', set: ['a', 'b'], list: ['a', 'b'], byName })).toBe(value);
  });
});

test.each([
  { name: 'foo-bar', escaped: 'foo__dash__bar' },
  { name: 'a.b/c', escaped: 'a__dot__b__slash__c' },
  { name: 'a__b', escaped: 'a__underscores__b' },
  { name: 'namespace', escaped: '__namespace__' },
  { name: 'with space', escaped: undefined },
  { name: '1st', escaped: undefined },
])('the property $name is $escaped', ({ name, escaped }) => {
  expect(escapeProperty(name)).toBe(escaped);
});
