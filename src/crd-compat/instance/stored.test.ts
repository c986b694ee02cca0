/** Pruning and defaulting of objects. */
import { describe, expect, test } from 'vitest';
import type { CrdSchema } from '../schema.ts';
import { applyDefaults } from './defaults.ts';
import { prune } from './prune.ts';

const open = { 'x-kubernetes-preserve-unknown-fields': true };
const resource: CrdSchema = { type: 'object', 'x-kubernetes-embedded-resource': true, ...open };

describe('pruning', () => {
  test.each<{ reason: string; schema: CrdSchema; value: unknown; kept: unknown; pruned: readonly string[] }>([
    {
      reason: 'what the schema does not know goes, at every depth',
      schema: {
        type: 'object',
        properties: { a: { type: 'array', items: { type: 'object', properties: { b: {} } } } },
      },
      value: { a: [{ b: 1, c: 2 }], 'd e': 3 },
      kept: { a: [{ b: 1 }] },
      pruned: ['.a[0].c', '["d e"]'],
    },
    {
      reason: 'unknown fields are kept where the schema says so, and known ones pruned again',
      schema: { type: 'object', ...open, properties: { a: { type: 'object', properties: {} } } },
      value: { a: { b: 1 }, c: { d: 1 } },
      kept: { a: {}, c: { d: 1 } },
      pruned: ['.a.b'],
    },
    {
      reason: 'in lists too',
      schema: { type: 'array', ...open, items: { type: 'object', properties: { a: { type: 'object' } } } },
      value: [{ a: { b: 1 }, c: 1 }],
      kept: [{ a: {}, c: 1 }],
      pruned: ['[0].a.b'],
    },
    {
      reason: 'additionalProperties: true keeps keys, but nothing inside objects',
      schema: { type: 'object', additionalProperties: true },
      value: { a: 1, b: { c: 1 }, d: [{ e: 1 }] },
      kept: { a: 1, b: {}, d: [{}] },
      pruned: ['.b.c', '.d[0].e'],
    },
    {
      reason: 'metadata of resources inside is read and written again',
      schema: { type: 'object', properties: { r: resource } },
      value: {
        r: { kind: 'A', metadata: { name: '', labels: {}, x: 1, creationTimestamp: null, annotations: { a: 'b' } } },
      },
      kept: { r: { kind: 'A', metadata: { annotations: { a: 'b' } } } },
      pruned: ['.r.metadata.x'],
    },
  ])('$reason', ({ schema, value, kept, pruned }) => {
    expect(prune(value, schema, { resource: false })).toEqual({ value: kept, pruned, unreadable: [] });
  });

  test('a resource keeps its type and metadata', () => {
    const object = { apiVersion: 'v1', kind: 'A', metadata: { name: 'a' }, spec: 1 };
    expect(prune(object, { type: 'object' })).toMatchObject({ pruned: ['.spec'] });
  });

  test('what loses nothing is the same object, and nothing is changed in place', () => {
    const schema: CrdSchema = { type: 'object', properties: { a: { type: 'object', properties: { b: {} } } } };
    const whole = { a: { b: 1 } };
    expect(prune(whole, schema).value).toBe(whole);
    const more = Object.freeze({ a: Object.freeze({ b: 1, c: 2 }) });
    expect(prune(more, schema).value).toEqual(whole);
  });

  test('from the store, metadata that cannot be read is dropped, or nothing can be read', () => {
    const schema: CrdSchema = { type: 'object', properties: { r: resource } };
    const lenient = prune({ r: { kind: 1, metadata: { name: 'a', labels: { b: 1 } } } }, schema, { stored: true });
    expect(lenient).toMatchObject({ value: { r: { metadata: { name: 'a' } } }, unreadable: [] });
    expect(prune({ r: { metadata: 'text' } }, schema, { stored: true }).unreadable).toEqual(['.r.metadata']);
  });
});

describe('defaults', () => {
  const inner: CrdSchema = { type: 'object', default: {}, properties: { b: { type: 'integer', default: 1 } } };
  test.each<{ reason: string; schema: CrdSchema; value: unknown; filled: unknown }>([
    {
      reason: 'what is missing, also inside',
      schema: { properties: { a: inner } },
      value: {},
      filled: { a: { b: 1 } },
    },
    {
      reason: 'nothing without the parent',
      schema: { properties: { a: { properties: { b: inner } } } },
      value: {},
      filled: {},
    },
    {
      reason: 'null that is not allowed',
      schema: { properties: { a: inner } },
      value: { a: null },
      filled: { a: { b: 1 } },
    },
    {
      reason: 'null that may be stays',
      schema: { properties: { a: { ...inner, nullable: true } } },
      value: { a: null },
      filled: { a: null },
    },
    {
      reason: 'null without a default goes',
      schema: { properties: { a: { type: 'string' } } },
      value: { a: null },
      filled: {},
    },
    { reason: 'in a list it stays', schema: { items: { type: 'string' } }, value: [null], filled: [null] },
    {
      reason: 'in a list with a default it is filled',
      schema: { items: inner },
      value: [null, {}],
      filled: [{ b: 1 }, { b: 1 }],
    },
    { reason: 'in maps', schema: { additionalProperties: inner }, value: { x: null }, filled: { x: { b: 1 } } },
    { reason: 'a default of null is none', schema: { properties: { a: { default: null } } }, value: {}, filled: {} },
  ])('$reason', ({ schema, value, filled }) => {
    expect(applyDefaults(value, schema)).toEqual(filled);
  });

  test('are copies', () => {
    const schema: CrdSchema = { properties: { a: { type: 'object', default: { list: [] } } } };
    const filled = applyDefaults({}, schema) as { a: { list: unknown[] } };
    filled.a.list.push(1);
    expect(applyDefaults({}, schema)).toEqual({ a: { list: [] } });
  });
});
