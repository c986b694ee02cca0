/** The parts of a change that are checked. test/crd-compat/refused.test.ts asks the API server whether it agrees. */
import { expect, test } from 'vitest';
import { crdOf, specOf, version } from './compare/support/definitions.ts';
import type { Crd } from './crd.ts';
import { refusedParts } from './refused.ts';
import type { CrdSchema } from './schema.ts';

const of = (value: CrdSchema, more: CrdSchema = {}): Crd =>
  crdOf(specOf({ type: 'object', properties: { value, ...more.properties } }));
const wrong: CrdSchema = {
  type: 'string',
  default: 5,
  pattern: '(',
  'x-kubernetes-validations': [{ rule: 'self > 1' }],
};
const beside: CrdSchema = { type: 'object', properties: { beside: { type: 'string' } } };
const at = 'spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.value.properties.value';

test.each([
  {
    reason: 'all of a definition that is new',
    before: undefined,
    after: of(wrong),
    found: ['rule', 'default', 'pattern'],
  },
  {
    reason: 'what was right before',
    before: of({ type: 'string' }),
    after: of(wrong),
    found: ['rule', 'default', 'pattern'],
  },
  { reason: 'nothing that was there before', before: of(wrong), after: of(wrong), found: [] },
  { reason: 'nothing beside what changed', before: of(wrong), after: of(wrong, beside), found: [] },
  {
    reason: 'nothing that was there before, though a version comes before it',
    before: of(wrong),
    after: crdOf([
      version({ type: 'object' }, { name: 'v2', storage: false }),
      version(specOf({ type: 'object', properties: { value: wrong, beside: { type: 'string' } } })),
    ]),
    found: [],
  },
  {
    reason: 'a version that is new',
    before: of(wrong),
    after: crdOf([version(specOf(wrong), { name: 'v2' })]),
    found: ['rule', 'default', 'pattern'],
  },
])('$reason', ({ before, after, found }) => {
  expect([...new Set(refusedParts(before, after).map(({ code }) => code))].sort()).toEqual([...found].sort());
});

test('a rule that stays does not compile any more where its field is gone', () => {
  const ruled = (properties: Record<string, CrdSchema>): Crd =>
    crdOf(specOf({ type: 'object', properties, 'x-kubernetes-validations': [{ rule: "self.name != 'a'" }] }));
  expect(refusedParts(ruled({ name: { type: 'string' } }), ruled({}))).toMatchObject([
    {
      code: 'rule',
      path: 'spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.value.x-kubernetes-validations[0].rule',
      message: `The rule "self.name != 'a'" cannot be compiled: undefined field 'name'.`,
    },
  ]);
});

test('an issue has a path, a reason and the next step', () => {
  expect(refusedParts(undefined, of({ type: 'string', default: 5 }))).toEqual([
    {
      code: 'default',
      path: `${at}.default`,
      message: 'The default 5 is not accepted by its schema: 5 is of type integer, not string.',
      next: 'Correct the default or the schema: the API server rejects the definition.',
    },
  ]);
});

test('defaults of metadata are left to the API server', () => {
  const metadata: CrdSchema = { type: 'object', properties: { name: { type: 'string', default: 5 } } };
  expect(refusedParts(undefined, crdOf({ type: 'object', properties: { metadata } }))).toEqual([]);
});
