import { describe, expect, test } from 'vitest';
import type { CrdSchema } from '../schema.ts';
import { type Traits, traitsOf } from './traits.ts';

const NONE: Traits = { rules: false, lists: false, embedded: false, defaults: false };

describe('what there is in a schema', () => {
  const traits: { reason: string; schema: CrdSchema; found: Partial<Traits> }[] = [
    { reason: 'nothing', schema: { type: 'string' }, found: {} },
    {
      reason: 'rules',
      schema: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self != ""' }] },
      found: { rules: true },
    },
    { reason: 'an empty list of rules', schema: { type: 'string', 'x-kubernetes-validations': [] }, found: {} },
    {
      reason: 'a list with keys',
      schema: { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'map' },
      found: { lists: true },
    },
    {
      reason: 'a set',
      schema: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
      found: { lists: true },
    },
    {
      reason: 'a list that is replaced as a whole has no keys',
      schema: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
      found: {},
    },
    {
      reason: 'a resource',
      schema: { type: 'object', 'x-kubernetes-embedded-resource': true },
      found: { embedded: true },
    },
    {
      reason: 'a default, also one that is false',
      schema: { type: 'boolean', default: false },
      found: { defaults: true },
    },
    { reason: 'a default of null fills nothing in', schema: { type: 'string', default: null }, found: {} },
  ];
  const places: { place: string; within: (schema: CrdSchema) => CrdSchema }[] = [
    { place: 'at the root', within: (schema) => schema },
    {
      place: 'in a field',
      within: (schema) => ({ type: 'object', properties: { plain: { type: 'string' }, schema } }),
    },
    { place: 'in a list', within: (items) => ({ type: 'array', items }) },
    { place: 'in a map', within: (additionalProperties) => ({ type: 'object', additionalProperties }) },
    {
      place: 'at depth 8',
      within: (schema) =>
        Array.from({ length: 8 }).reduce<CrdSchema>((inner) => ({ type: 'object', properties: { inner } }), schema),
    },
  ];
  describe.each(places)('$place', ({ within }) => {
    test.each(traits)('$reason', ({ schema, found }) => {
      expect(traitsOf(within(schema))).toEqual({ ...NONE, ...found });
    });
  });

  test('what several fields have is all found', () => {
    const fields = Object.fromEntries(traits.map(({ schema }, index) => [`field${index}`, schema]));
    expect(traitsOf({ type: 'object', properties: fields })).toEqual({
      rules: true,
      lists: true,
      embedded: true,
      defaults: true,
    });
  });

  test('alternatives are left aside: a structural schema has none of it there', () => {
    expect(traitsOf({ type: 'string', anyOf: [{ default: 'a' }] })).toEqual(NONE);
  });
});
