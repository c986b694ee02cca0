/**
 * Types of values that are the JSON as it came, as policies see them: exact where the schema is, and never wrong about
 * what runs.
 */
import { describe, expect, test } from 'vitest';
import { type Compiled, compile } from '../compile.ts';
import { environment } from '../environments.ts';
import { typeName } from '../types.ts';
import type { Schema } from './schema.ts';
import { typesFromSchema } from './types.ts';

const text: Schema = { type: 'string' };
const container: Schema = { type: 'object', properties: { name: text, image: text, lifecycle: { type: 'object' } } };
const ephemeral: Schema = { type: 'object', properties: { name: text, image: text, targetContainerName: text } };
const schema: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: { type: 'integer' },
        ratio: { type: 'number' },
        since: { type: 'string', format: 'date-time' },
        raw: { type: 'string', format: 'byte' },
        'foo-bar': text,
        containers: { type: 'array', items: { $ref: '#/Container' } },
        initContainers: { type: 'array', items: { $ref: '#/Container' } },
        ephemeralContainers: { type: 'array', items: { $ref: '#/Ephemeral' } },
        labels: { type: 'object', additionalProperties: text },
      },
    },
  },
};
const made = typesFromSchema(schema, {
  name: 'Thing',
  values: 'json',
  resolve: (name) => ({ '#/Container': container, '#/Ephemeral': ephemeral })[name],
});
const env = environment('kubernetes-1.36', {
  variables: { object: made.type },
  types: [made.provider],
  language: { looseEquality: true },
});

describe('expressions that run on JSON are accepted, with their type', () => {
  test.each([
    { reason: 'formats are text', source: 'object.spec.since', type: 'string' },
    { reason: 'formats are text', source: 'timestamp(object.spec.since)', type: 'timestamp' },
    { reason: 'formats are text', source: 'object.spec.raw', type: 'string' },
    { reason: 'a number may be whole', source: 'object.spec.ratio == 1', type: 'bool' },
    { reason: 'objects are maps', source: "object.spec['foo-bar']", type: 'string' },
    { reason: 'objects are maps', source: "'replicas' in object.spec", type: 'bool' },
    { reason: 'objects are maps', source: 'object.spec.all(key, key != "x")', type: 'bool' },
    { reason: 'objects are maps', source: 'size(object.spec)', type: 'int' },
    { reason: 'objects are maps', source: 'object.spec == {}', type: 'bool' },
    { reason: 'objects are maps', source: 'object.spec[object.spec.since]', type: 'dyn' },
    { reason: 'null may be anywhere', source: 'object.spec.replicas == null', type: 'bool' },
    { reason: 'null may be anywhere', source: 'object.spec.containers != null', type: 'bool' },
    { reason: 'numbers are compared by value', source: 'object.spec.replicas == 3u', type: 'bool' },
    {
      reason: 'one definition is one type',
      source: '(object.spec.containers + object.spec.initContainers)[0]',
      type: 'Container',
    },
    {
      reason: 'two definitions are either',
      source: '(object.spec.containers + object.spec.ephemeralContainers)[0]',
      type: 'Container|Ephemeral',
    },
    {
      reason: 'a field of one of them is a field',
      source: '(object.spec.containers + object.spec.ephemeralContainers).map(c, c.targetContainerName)',
      type: 'list(string)',
    },
    {
      reason: 'what is missing may be an empty map',
      source: 'has(object.spec) ? object.spec : {}',
      type: 'Thing.spec',
    },
  ])('$source: $reason', ({ source, type }) => {
    const compiled = compile(source, env);
    expect(compiled.issues).toEqual([]);
    expect(typeName((compiled as Compiled).type)).toBe(type);
  });
});

describe('expressions that cannot run are rejected', () => {
  test.each([
    { source: 'object.spec.since > timestamp("2024-01-01T00:00:00Z")', says: 'no matching overload' },
    { source: 'object.spec.foo__dash__bar', says: "undefined field 'foo__dash__bar'" },
    { source: "object.spec['foo-baz']", says: "did you mean 'foo-bar'?" },
    { source: 'object.spec.replicas == "3"', says: 'no matching overload' },
    { source: 'object.spec.startsWith("x")', says: 'no matching overload' },
    {
      source: '(object.spec.containers + object.spec.ephemeralContainers).all(c, c.imagee == "")',
      says: "did you mean 'image'?",
    },
  ])('$source', ({ source, says }) => {
    const { issues } = compile(source, env);
    expect(issues[0]?.message).toContain(says);
  });
});
