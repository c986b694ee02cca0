/** Samples are valid and small, satisfy wishes, and are the same on each run. */
import { describe, expect, test } from 'vitest';
import type { CrdSchema } from '../../schema.ts';
import { applyDefaults } from '../defaults.ts';
import { prune } from '../prune.ts';
import { validator } from '../validate.ts';
import { sample, samples } from './index.ts';
import type { Wish } from './wish.ts';

const rules = (...texts: readonly string[]): CrdSchema => ({
  'x-kubernetes-validations': texts.map((rule) => ({ rule })),
});
const object = (properties: Readonly<Record<string, CrdSchema>>, more: CrdSchema = {}): CrdSchema => ({
  type: 'object',
  properties,
  ...more,
});
const text: CrdSchema = { type: 'string' };
const count: CrdSchema = { type: 'integer' };

const isTaken = (schema: CrdSchema, value: unknown): boolean => {
  const options = { resource: false };
  return validator(schema, options).validate(applyDefaults(prune(value, schema, options).value, schema)).length === 0;
};

describe('there is one for', () => {
  test.each<{ reason: string; schema: CrdSchema }>([
    { reason: 'bounds', schema: { type: 'integer', minimum: 7, maximum: 20, exclusiveMinimum: true, multipleOf: 6 } },
    { reason: 'fractions', schema: { type: 'number', minimum: 0.1, maximum: 0.4 } },
    { reason: 'formats', schema: { type: 'string', format: 'date-time', maxLength: 25 } },
    { reason: 'patterns', schema: { type: 'string', pattern: '^[A-Z]{3}-\\d+$', minLength: 9 } },
    { reason: 'two patterns', schema: { type: 'string', pattern: '^a', allOf: [{ pattern: 'z$' }, { minLength: 4 }] } },
    { reason: 'all but some', schema: { type: 'string', not: { enum: ['a', 'example'] }, pattern: '^(a|example|b)$' } },
    {
      reason: 'int-or-string',
      schema: {
        'x-kubernetes-int-or-string': true,
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        pattern: '^\\d+%$',
      },
    },
    {
      reason: 'what is required',
      schema: object({ a: object({ b: text }, { required: ['b'] }), c: count }, { required: ['a', 'c'] }),
    },
    { reason: 'so many properties', schema: object({ a: text, b: text, c: text }, { minProperties: 2 }) },
    { reason: 'maps', schema: { type: 'object', additionalProperties: count, minProperties: 3 } },
    {
      reason: 'sets',
      schema: {
        type: 'array',
        items: { ...text, enum: ['a', 'b', 'c'] },
        minItems: 3,
        'x-kubernetes-list-type': 'set',
      },
    },
    {
      reason: 'lists by two keys',
      schema: {
        type: 'array',
        minItems: 5,
        items: object({ k: { type: 'boolean' }, l: { ...text, default: 'x' } }, { required: ['k'] }),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k', 'l'],
      },
    },
    { reason: 'one of', schema: object({ a: text, b: text }, { oneOf: [{ required: ['a'] }, { required: ['b'] }] }) },
    {
      reason: 'any of, inside',
      schema: object(
        { a: count, b: text },
        {
          required: ['a'],
          anyOf: [{ properties: { a: { minimum: 100 } } }, { required: ['b'], properties: { b: { enum: ['y'] } } }],
        },
      ),
    },
    { reason: 'not both', schema: object({ a: text, b: text }, { minProperties: 1, not: { required: ['a'] } }) },
    {
      reason: 'a resource inside',
      schema: object(
        { r: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true } },
        { required: ['r'] },
      ),
    },
    {
      reason: 'rules about numbers',
      schema: object(
        { min: count, max: count },
        { required: ['min', 'max'], ...rules('self.min < self.max', 'self.max != 2', 'self.min > 41') },
      ),
    },
    {
      reason: 'rules about presence',
      schema: object(
        { a: text, b: text, c: text },
        rules('has(self.a) != has(self.b)', '!has(self.a) || has(self.c)', 'has(self.a)'),
      ),
    },
    {
      reason: 'rules about text',
      schema: object(
        { a: text },
        { required: ['a'], ...rules("self.a.startsWith('app-')", "self.a.matches('^[a-z]+-[0-9]{2}$')") },
      ),
    },
    {
      reason: 'rules about lists',
      schema: object(
        { l: { type: 'array', items: object({ name: text, main: { type: 'boolean' } }) } },
        {
          required: ['l'],
          ...rules(
            'self.l.exists_one(x, has(x.main) && x.main)',
            "self.l.all(x, has(x.name) && x.name in ['one', 'two'])",
          ),
        },
      ),
    },
    {
      reason: 'rules that go with a type',
      schema: object(
        { type: { ...text, enum: ['A', 'B'] }, a: object({}), b: object({}) },
        { required: ['type'], ...rules("self.type == 'A' ? has(self.a) && !has(self.b) : has(self.b)") },
      ),
    },
    {
      reason: 'names that rules escape',
      schema: object({ 'foo-bar': count }, rules('has(self.foo__dash__bar) && self.foo__dash__bar == 77')),
    },
    {
      reason: 'keys that rules name',
      schema: { type: 'object', additionalProperties: text, ...rules("'team' in self && self['team'] == 'blue'") },
    },
  ])('$reason', ({ schema }) => {
    const found = sample(schema);
    expect(found).toBeDefined();
    expect(isTaken(schema, found)).toBe(true);
  });
});

test('there is none where there can be none', () => {
  expect(sample({ type: 'integer', minimum: 5, maximum: 4 })).toBeUndefined();
  expect(sample(object({ a: text }, { required: ['a'], not: { required: ['a'] } }))).toBeUndefined();
  expect(sample({ type: 'string', pattern: '^a$', minLength: 2 })).toBeUndefined();
});

test('it is the smallest', () => {
  expect(sample(object({ a: text, b: text, c: { ...text, default: 'x' } }, { required: ['b', 'c'] }))).toEqual({
    b: 'example',
  });
});

describe('a wish', () => {
  const schema = object(
    {
      spec: object(
        {
          size: { ...count, maximum: 20 },
          name: { ...text, pattern: '^[a-z]+$' },
          items: {
            type: 'array',
            items: object({ image: text, port: { ...count, default: 80 } }, { required: ['image'] }),
          },
          labels: { type: 'object', additionalProperties: { ...text, maxLength: 5 } },
        },
        { required: ['name'], ...rules('!has(self.size) || self.size > 2') },
      ),
    },
    { required: ['spec'] },
  );
  test.each<{ reason: string; wish: Wish | readonly Wish[]; found: unknown }>([
    { reason: 'a value', wish: { path: ['spec', 'size'], value: 7 }, found: { spec: { size: 7 } } },
    {
      reason: 'any value',
      wish: { path: ['spec', 'labels', 'k'], matching: {} },
      found: { spec: { labels: { k: expect.any(String) } } },
    },
    {
      reason: 'one in a list, with what it needs',
      wish: { path: ['spec', 'items', 1, 'port'], value: 1 },
      found: { spec: { items: [{ image: expect.any(String) }, { image: expect.any(String), port: 1 }] } },
    },
    {
      reason: 'one that another schema refuses',
      wish: { path: ['spec', 'size'], matching: { not: { maximum: 10 } } },
      found: { spec: { size: expect.toSatisfy((size: number) => size > 10 && size <= 20) } },
    },
    {
      reason: 'a text that another pattern refuses',
      wish: { path: ['spec', 'name'], matching: { not: { pattern: '^[a-y]+$' } } },
      found: { spec: { name: expect.stringMatching(/z/) } },
    },
    {
      reason: 'a field that nobody knows',
      wish: { path: ['spec', 'colour'], value: 'red' },
      found: { spec: { colour: 'red' } },
    },
    {
      reason: 'two at once',
      wish: [
        { path: ['spec', 'size'], value: 3 },
        { path: ['spec', 'items'], value: [] },
      ],
      found: { spec: { size: 3, items: [] } },
    },
  ])('$reason', ({ wish, found }) => {
    const made = sample(schema, wish);
    expect(made).toMatchObject(found as object);
    expect(isTaken(schema, made)).toBe(true);
  });

  test('for nothing where there is a default', () => {
    const preset = object({ a: { ...text, default: 'x' }, b: text }, { required: ['a'] });
    expect(sample(preset, { path: ['a'], absent: true })).toEqual({});
  });

  test.each<{ reason: string; wish: Wish }>([
    { reason: 'a value that is not taken', wish: { path: ['spec', 'size'], value: 21 } },
    { reason: 'nothing where something is required', wish: { path: ['spec', 'name'], absent: true } },
    { reason: 'what cannot be', wish: { path: ['spec', 'size'], matching: { minimum: 21 } } },
  ])('is not granted: $reason', ({ wish }) => {
    expect(sample(schema, wish)).toBeUndefined();
  });

  test('may be about the whole', () => {
    const where = (made: unknown): boolean => ((made as { spec: { size?: number } }).spec.size ?? 0) > 5;
    expect(sample(schema, [], { where })).toMatchObject({ spec: { size: expect.any(Number) } });
  });
});

test('a whole resource has a type and a name that the schema takes', () => {
  const schema = object(
    { metadata: object({ name: { ...text, maxLength: 3 } }), spec: count },
    rules("self.metadata.name.startsWith('a')"),
  );
  const resource = { apiVersion: 'example.com/v1', kind: 'Thing' };
  const made = sample(schema, { path: ['spec'], value: 1 }, { resource });
  expect(made).toMatchObject({ ...resource, spec: 1, metadata: { name: expect.stringMatching(/^a.{0,2}$/) } });
});

test('many are different, valid, and the same for the same seed', () => {
  const schema = object({
    a: text,
    b: { type: 'array', items: count, maxItems: 3 },
    c: { type: 'object', additionalProperties: { type: 'boolean' } },
  });
  const first = samples(schema, { seed: 3, count: 40 });
  expect(first).toHaveLength(40);
  expect(new Set(first.map((each) => JSON.stringify(each))).size).toBe(40);
  expect(first.every((each) => isTaken(schema, each))).toBe(true);
  expect(samples(schema, { seed: 3, count: 40 })).toEqual(first);
  expect(samples(schema, { seed: 4, count: 40 })).not.toEqual(first);
  expect(samples({ type: 'boolean' }, { seed: 1, count: 10 })).toHaveLength(2);
});

test('a list with keys whose items may be null crashed the sampler', () => {
  const schema: CrdSchema = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['key'],
    items: { type: 'object', nullable: true, required: ['key'], properties: { key: { type: 'string' } } },
  };
  const seeds = Array.from({ length: 20 }, (_, seed) => seed);
  expect(() => seeds.map((seed) => samples(schema, { seed, count: 8 }))).not.toThrow();
});
