import { expect, test } from 'vitest';
import { compareCrds, readCrd } from './index.ts';

const definition = (field: object) => ({
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
        schema: { openAPIV3Schema: { type: 'object', properties: { field } } },
      },
    ],
  },
});

const odd = [null, 'text', '', -1, 1.5, true, [], {}, [1], [null], ['text'], { a: 1 }];
const keywords = [
  'type format pattern title description nullable minimum maximum exclusiveMinimum exclusiveMaximum multipleOf',
  'minLength maxLength minItems maxItems uniqueItems minProperties maxProperties required enum default',
  'allOf anyOf oneOf not properties items additionalProperties',
  'x-kubernetes-preserve-unknown-fields x-kubernetes-embedded-resource x-kubernetes-int-or-string x-kubernetes-list-type',
  'x-kubernetes-map-type x-kubernetes-list-map-keys x-kubernetes-validations',
].flatMap((line) => line.split(' '));

test.each(keywords)('%s: whatever stands there is compared, or refused with its place', (keyword) => {
  const { crd: plain } = readCrd(definition({ type: 'string' }));
  for (const type of ['string', 'integer', 'object', 'array']) {
    for (const value of odd) {
      const items = type === 'array' ? { items: { type: 'string' } } : {};
      const { crd, issues } = readCrd(definition({ type, ...items, [keyword]: value }));
      if (crd === undefined) {
        expect(issues[0]?.path).toMatch(/^spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\.field/);
      } else {
        expect(compareCrds(plain, crd).name).toBe('widgets.example.com');
        expect(compareCrds(crd, plain).name).toBe('widgets.example.com');
      }
    }
  }
});

test.each([
  {
    reason: 'text for a list',
    field: { type: 'object', required: 'a' },
    message: 'required must be a list of strings.',
  },
  { reason: 'text for a number', field: { type: 'integer', minimum: '1' }, message: 'minimum must be a number.' },
  { reason: 'nothing', field: { type: 'string', enum: null }, message: 'enum must be a list.' },
  {
    reason: 'within a junctor',
    field: { type: 'string', anyOf: [{ pattern: 5 }] },
    message: 'pattern must be a string.',
    path: '.anyOf[0].pattern',
  },
  {
    reason: 'a rule without a rule',
    field: { type: 'string', 'x-kubernetes-validations': [{ message: 'x' }] },
    message:
      'x-kubernetes-validations must be a list of rules, each with a string `rule` and only strings as messages, reason and field path.',
  },
])('$reason', ({ field, message, path = '' }) => {
  const [issue] = readCrd(definition(field)).issues;
  expect(issue).toMatchObject({ code: 'wrong-type', message });
  expect(issue?.path.endsWith(path)).toBe(true);
});
