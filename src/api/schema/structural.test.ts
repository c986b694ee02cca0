import { expect, test } from 'vitest';
import type { OpenApiSchema } from './index.ts';
import { structuralViolations } from './index.ts';

const described = (schema: OpenApiSchema): OpenApiSchema => ({ description: 'It.', ...schema });
const fieldOf = (field: OpenApiSchema): OpenApiSchema => described({ type: 'object', properties: { field } });

const table: { reason: string; schema: OpenApiSchema; violation: string | undefined }[] = [
  { reason: 'a plain object is fine', schema: fieldOf(described({ type: 'boolean' })), violation: undefined },
  {
    reason: 'a field needs a description',
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
    reason: 'an unbounded map makes every rule in it too expensive',
    schema: described({ type: 'object', additionalProperties: described({ type: 'boolean' }) }),
    violation: '(root): a map needs maxProperties',
  },
  {
    reason: 'an unbounded list makes every rule in it too expensive',
    schema: fieldOf(described({ type: 'array', items: described({ type: 'boolean' }) })),
    violation: '.field: a list needs maxItems',
  },
  {
    reason: 'a list needs a schema for its items',
    schema: fieldOf(described({ type: 'array', maxItems: 1 })),
    violation: '.field: a list needs items',
  },
  {
    reason: 'an unbounded string makes every rule on it too expensive',
    schema: fieldOf(described({ type: 'string' })),
    violation: '.field: a string needs maxLength',
  },
  {
    reason: 'an enum alone does not bound a rule on older API servers',
    schema: fieldOf(described({ type: 'string', enum: ['a'] })),
    violation: '.field: a string needs maxLength',
  },
  {
    reason: 'an integer needs bounds',
    schema: fieldOf(described({ type: 'integer', minimum: 0 })),
    violation: '.field: an integer needs minimum and maximum',
  },
  {
    reason: 'a required field must be a property',
    schema: described({ type: 'object', required: ['gone'], properties: {} }),
    violation: '(root): requires gone, which is not one of its properties',
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
    reason: 'a key must be required or have a default',
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
    reason: 'a string cannot have properties',
    schema: fieldOf(described({ type: 'string', maxLength: 1, properties: {} })),
    violation: '.field: properties belong to an object',
  },
  {
    reason: 'a string cannot have items',
    schema: fieldOf(described({ type: 'string', maxLength: 1, items: described({ type: 'boolean' }) })),
    violation: '.field: items belong to a list',
  },
  {
    reason: 'the API server rejects a message with a line break',
    schema: fieldOf(described({ type: 'boolean', 'x-kubernetes-validations': [{ rule: 'self', message: 'a\nb' }] })),
    violation: '.field: the message of self must be one line',
  },
  {
    reason: 'the API server rejects a longer message',
    schema: fieldOf(
      described({ type: 'boolean', 'x-kubernetes-validations': [{ rule: 'self', message: 'a'.repeat(2049) }] }),
    ),
    violation: '.field: the message of self is longer than 2048 characters',
  },
  {
    reason: 'metadata must not have a description',
    schema: described({ type: 'object', properties: { metadata: described({ type: 'object' }) } }),
    violation: '.metadata: cannot have description',
  },
  {
    reason: 'labels cannot be restricted in a schema',
    schema: described({
      type: 'object',
      properties: { metadata: { type: 'object', properties: { labels: described({ type: 'boolean' }) } } },
    }),
    violation: '.metadata.labels: cannot be restricted',
  },
  {
    reason: 'the values of a map are checked',
    schema: described({ type: 'object', maxProperties: 1, additionalProperties: { type: 'boolean' } }),
    violation: '.*: has no description',
  },
];

test.each(table)('$reason', ({ schema, violation }) => {
  expect(structuralViolations(schema)).toEqual(violation === undefined ? [] : [violation]);
});
