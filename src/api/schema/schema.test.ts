import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  anyObject,
  boolean,
  choice,
  immutable,
  instant,
  integer,
  integerOrText,
  list,
  listByKey,
  map,
  object,
  type Stored,
  set,
  setOnce,
  text,
  type Written,
} from './index.ts';

describe('a schema as OpenAPI', () => {
  const table = [
    {
      reason: 'a string carries its bounds',
      schema: text('A name.', { minLength: 1, maxLength: 63, pattern: '^a' }),
      openapi: { description: 'A name.', type: 'string', minLength: 1, maxLength: 63, pattern: '^a' },
    },
    {
      reason: 'a choice is an enum with a maximum length, for API servers that estimate rule costs by length',
      schema: choice('A size.', ['small', 'large']),
      openapi: { description: 'A size.', type: 'string', maxLength: 5, enum: ['small', 'large'] },
    },
    {
      reason: 'an instant has a format and needs no length',
      schema: instant('When.'),
      openapi: { description: 'When.', type: 'string', format: 'date-time' },
    },
    {
      reason: 'an integer within 32 bits has the format int32',
      schema: integer('A port.', { minimum: 1, maximum: 65_535 }),
      openapi: { description: 'A port.', type: 'integer', format: 'int32', minimum: 1, maximum: 65_535 },
    },
    {
      reason: 'an integer beyond 32 bits has the format int64',
      schema: integer('A count.', { minimum: 0, maximum: 2 ** 40 }),
      openapi: { description: 'A count.', type: 'integer', format: 'int64', minimum: 0, maximum: 2 ** 40 },
    },
    {
      reason: 'an int-or-string has no type, as structural schemas require',
      schema: integerOrText('An amount.', { maxLength: 8 }),
      openapi: { description: 'An amount.', 'x-kubernetes-int-or-string': true, maxLength: 8 },
    },
    {
      reason: 'an unknown object keeps its fields',
      schema: anyObject('Anything.'),
      openapi: { description: 'Anything.', type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
    {
      reason: 'only required fields are listed as such; a default is neither required nor lost',
      schema: object('Both.', {
        needed: boolean('Needed.'),
        maybe: boolean('Maybe.').optional(),
        filled: boolean('Filled.').default(true),
      }),
      openapi: {
        description: 'Both.',
        type: 'object',
        required: ['needed'],
        properties: {
          needed: { description: 'Needed.', type: 'boolean' },
          maybe: { description: 'Maybe.', type: 'boolean' },
          filled: { description: 'Filled.', type: 'boolean', default: true },
        },
      },
    },
    {
      reason: 'an object without required fields has no empty list of them, which the API server rejects',
      schema: object('Loose.', { maybe: boolean('Maybe.').optional() }, { atomic: true }),
      openapi: {
        description: 'Loose.',
        type: 'object',
        'x-kubernetes-map-type': 'atomic',
        properties: { maybe: { description: 'Maybe.', type: 'boolean' } },
      },
    },
    {
      reason: 'a map bounds its keys by number and its values by schema',
      schema: map('Tags.', text('A value.', { maxLength: 5 }), { maxProperties: 2 }),
      openapi: {
        description: 'Tags.',
        type: 'object',
        maxProperties: 2,
        additionalProperties: { description: 'A value.', type: 'string', maxLength: 5 },
      },
    },
    {
      reason: 'rules add up',
      schema: boolean('On.').rules({ rule: 'self', message: 'must be on' }).rules({ rule: 'true', message: 'fine' }),
      openapi: {
        description: 'On.',
        type: 'boolean',
        'x-kubernetes-validations': [
          { rule: 'self', message: 'must be on' },
          { rule: 'true', message: 'fine' },
        ],
      },
    },
  ];
  test.each(table)('$reason', ({ schema, openapi }) => {
    expect(schema.openapi).toEqual(openapi);
  });

  test('each of the three list types declares how it is merged', () => {
    const name = text('A name.', { maxLength: 5 });
    const bounds = { maxItems: 3 };
    expect(list('L.', name, bounds).openapi).toMatchObject({ 'x-kubernetes-list-type': 'atomic', maxItems: 3 });
    expect(set('S.', name, bounds).openapi).toMatchObject({ 'x-kubernetes-list-type': 'set', maxItems: 3 });
    expect(listByKey('M.', ['name'], object('One.', { name }), bounds).openapi).toMatchObject({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      maxItems: 3,
    });
  });
});

describe('rules about change', () => {
  test('the rule of an immutable field belongs to the object that contains the field', () => {
    expect(immutable('owner', 'no').rule).toBe(
      'has(self.owner) == has(oldSelf.owner) && (!has(self.owner) || self.owner == oldSelf.owner)',
    );
  });

  test('a field that is set once may be set later', () => {
    expect(setOnce('owner', 'no').rule).toBe('!has(oldSelf.owner) || (has(self.owner) && self.owner == oldSelf.owner)');
  });

  test('a field whose name is reserved in CEL is escaped in the rule, not in the path', () => {
    const { rule, fieldPath } = immutable('namespace', 'no');
    expect(rule).toContain('self.__namespace__ == oldSelf.__namespace__');
    expect(fieldPath).toBe('.namespace');
  });
});

test('a schema as a TypeScript type, stored and written', () => {
  const schema = object('A thing.', {
    name: text('Name.', { maxLength: 5 }),
    size: choice('Size.', ['small', 'large']).default('small'),
    note: text('Note.', { maxLength: 5 }).optional(),
    parts: listByKey(
      'Parts.',
      ['id'],
      object('Part.', {
        id: integer('Id.', { minimum: 0, maximum: 9 }),
        on: boolean('On.').default(true),
      }),
      { maxItems: 2 },
    ).optional(),
    tags: map('Tags.', integerOrText('Tag.', { maxLength: 5 }), { maxProperties: 2 }).default({}),
    free: anyObject('Free.').optional(),
  });
  expectTypeOf<Stored<typeof schema>>().toEqualTypeOf<{
    name: string;
    size: 'small' | 'large';
    note?: string;
    parts?: { id: number; on: boolean }[];
    tags: Record<string, number | string>;
    free?: Record<string, unknown>;
  }>();
  expectTypeOf<Written<typeof schema>>().toEqualTypeOf<{
    name: string;
    size?: 'small' | 'large';
    note?: string;
    parts?: { id: number; on?: boolean }[];
    tags?: Record<string, number | string>;
    free?: Record<string, unknown>;
  }>();

  // @ts-expect-error a default must be one of the choices
  choice('Size.', ['small', 'large']).default('huge');
  // @ts-expect-error a key must be a field of the entries
  listByKey('Parts.', ['nothing'], object('Part.', { id: boolean('Id.') }), { maxItems: 2 });
  expect(schema.presence).toBe('required');
});
