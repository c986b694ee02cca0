/** Reading list responses of the API server in the comparison thread. */
import { expect, test } from 'vitest';
import { startComparison } from './comparison.ts';

const definition = (rule?: string) =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                id: { type: 'integer', format: 'int64' },
                part: { type: 'number' },
                text: { type: 'string' },
              },
              ...(rule === undefined ? {} : { 'x-kubernetes-validations': [{ rule }] }),
            },
          },
        },
      ],
    },
  });

test.each([
  { reason: 'a number past 2^53', rule: 'self.id != 9007199254740993', fields: '"id": 9007199254740993', broken: 1 },
  { reason: 'its neighbour', rule: 'self.id != 9007199254740993', fields: '"id":9007199254740992', broken: 0 },
  { reason: 'the largest', rule: 'self.id < 9223372036854775807', fields: '"id":9223372036854775807', broken: 1 },
  { reason: 'the smallest', rule: 'self.id > -9223372036854775808', fields: '"id":-9223372036854775808', broken: 1 },
  {
    reason: 'digits in a text beside a small number',
    rule: 'self.id == 1 && self.text != ""',
    fields: '"id":1,"text":"a,9007199254740993,b"',
    broken: 0,
  },
  {
    reason: 'a number with a fraction, and one past 64 bits',
    rule: 'self.part > 1.0e19',
    fields: '"id":9007199254740993,"part":20000000000000000000',
    broken: 0,
  },
])('integers are what the API server has: $reason', ({ rule, fields, broken }) => {
  const comparison = startComparison();
  expect(comparison.compare(definition(), definition(rule))).not.toHaveProperty('unreadable');
  const item = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"default"},${fields}}`;
  const { count } = comparison.add(`{"metadata":{"resourceVersion":"1234567890123456789"},"items":[${item}]}`);
  expect(count).toMatchObject({ checked: 1, broken });
});
