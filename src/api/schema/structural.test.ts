import { expect, test } from 'vitest';
import type { OpenApiSchema } from './index.ts';
import { structuralViolations } from './index.ts';

const described = (schema: OpenApiSchema): OpenApiSchema => ({ description: 'It.', ...schema });
const fieldOf = (field: OpenApiSchema): OpenApiSchema => described({ type: 'object', properties: { field } });

const table: { reason: string; schema: OpenApiSchema; violation: string | undefined }[] = [
  { reason: 'a plain object is fine', schema: fieldOf(described({ type: 'boolean' })), violation: undefined },
  {
    reason: 'a field without a description tells nobody what it is for',
    schema: fieldOf({ type: 'boolean' }),
    violation: '.field: has no description',
  },
  {
    reason: 'a field without a type is not structural',
    schema: fieldOf(described({})),
    violation: '.field: has no type',
  },
  {
    reason: 'int-or-string excludes a type',
    schema: fieldOf(described({ type: 'string', maxLength: 1, 'x-kubernetes-int-or-string': true })),
    violation: '.field: has both a type and x-kubernetes-int-or-string',
  },
  {
    reason: 'properties and additionalProperties exclude each other',
    schema: described({
      type: 'object',
      properties: {},
      additionalProperties: described({ type: 'boolean' }),
      maxProperties: 1,
    }),
    violation: '(root): an object needs exactly one of properties, additionalProperties and preserve-unknown-fields',
  },
  {
    reason: 'an unbounded map makes every rule in it too dear',
    schema: described({ type: 'object', additionalProperties: described({ type: 'boolean' }) }),
    violation: '(root): a map needs maxProperties',
  },
  {
    reason: 'an unbounded list makes every rule in it too dear',
    schema: fieldOf(described({ type: 'array', items: described({ type: 'boolean' }) })),
    violation: '.field: a list needs maxItems',
  },
  {
    reason: 'a list says what is in it',
    schema: fieldOf(described({ type: 'array', maxItems: 1 })),
    violation: '.field: a list needs items',
  },
  {
    reason: 'an unbounded string makes every rule on it too dear',
    schema: fieldOf(described({ type: 'string' })),
    violation: '.field: a string needs maxLength',
  },
  {
    reason: 'a list of choices alone does not bound a rule on older API servers',
    schema: fieldOf(described({ type: 'string', enum: ['a'] })),
    violation: '.field: a string needs maxLength',
  },
  {
    reason: 'an unbounded integer is a typo away from harm',
    schema: fieldOf(described({ type: 'integer', minimum: 0 })),
    violation: '.field: an integer needs minimum and maximum',
  },
  {
    reason: 'what is required must be there',
    schema: described({ type: 'object', required: ['gone'], properties: {} }),
    violation: '(root): requires gone, which is no property of it',
  },
  {
    reason: 'a list of type map needs keys',
    schema: fieldOf(
      described({
        type: 'array',
        maxItems: 1,
        'x-kubernetes-list-type': 'map',
        items: fieldOf(described({ type: 'boolean' })),
      }),
    ),
    violation: '.field: a list of type map, and only it, needs keys',
  },
  {
    reason: 'a key that may be absent cannot tell entries apart',
    schema: fieldOf(
      described({
        type: 'array',
        maxItems: 1,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['field'],
        items: fieldOf(described({ type: 'boolean' })),
      }),
    ),
    violation: '.field: the key field must be required or have a default',
  },
  {
    reason: 'properties of a string are a mistake',
    schema: fieldOf(described({ type: 'string', maxLength: 1, properties: {} })),
    violation: '.field: properties belong to an object',
  },
  {
    reason: 'items of a string are a mistake',
    schema: fieldOf(described({ type: 'string', maxLength: 1, items: described({ type: 'boolean' }) })),
    violation: '.field: items belong to a list',
  },
  {
    reason: 'the API server refuses a message with a line break',
    schema: fieldOf(described({ type: 'boolean', 'x-kubernetes-validations': [{ rule: 'self', message: 'a\nb' }] })),
    violation: '.field: the message of self must be one line',
  },
  {
    reason: 'the API server refuses a longer message',
    schema: fieldOf(
      described({ type: 'boolean', 'x-kubernetes-validations': [{ rule: 'self', message: 'a'.repeat(2049) }] }),
    ),
    violation: '.field: the message of self is longer than 2048 characters',
  },
  {
    reason: 'metadata has no description of ours',
    schema: described({ type: 'object', properties: { metadata: described({ type: 'object' }) } }),
    violation: '.metadata: cannot have description',
  },
  {
    reason: 'labels cannot be narrowed down in a schema',
    schema: described({
      type: 'object',
      properties: { metadata: { type: 'object', properties: { labels: described({ type: 'boolean' }) } } },
    }),
    violation: '.metadata.labels: cannot be narrowed down',
  },
  {
    reason: 'what is below a map is looked at',
    schema: described({ type: 'object', maxProperties: 1, additionalProperties: { type: 'boolean' } }),
    violation: '.*: has no description',
  },
];

test.each(table)('$reason', ({ schema, violation }) => {
  expect(structuralViolations(schema)).toEqual(violation === undefined ? [] : [violation]);
});
