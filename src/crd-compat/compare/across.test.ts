/** Versions that nothing converts between. test/crd-compat tries many more on a real API server. */
import { expect, test } from 'vitest';
import type { CrdVersion } from '../crd.ts';
import type { CrdSchema } from '../schema.ts';
import { compareCrds } from './index.ts';
import { crdOf, version } from './support/definitions.ts';

const text: CrdSchema = { type: 'string' };
const spec = (...names: string[]): CrdSchema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, text])) } },
});
const stored = (name: string, schema: CrdSchema): CrdVersion => version(schema, { name });
const other = (name: string, schema: CrdSchema): CrdVersion => version(schema, { name, storage: false });
const subject = (field: CrdSchema, more: CrdSchema = {}): CrdSchema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { a: text, b: field }, ...more } },
});
const webhook = { conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'] } } };

const rows = [
  {
    reason: 'a new preferred version lacks a field',
    before: crdOf([stored('v1', spec('a', 'b'))]),
    after: crdOf([stored('v1', spec('a', 'b')), other('v2', spec('a'))]),
    found: ['preferred-version-changed breaking through v2 of example.com/v1'],
  },
  {
    reason: 'a webhook converts',
    before: crdOf([stored('v1', spec('a', 'b'))], webhook),
    after: crdOf([stored('v1', spec('a', 'b')), other('v2', spec('a'))], webhook),
    found: [],
  },
  {
    reason: 'a new version lacks a field, and is not preferred',
    before: crdOf([stored('v1', spec('a', 'b'))]),
    after: crdOf([stored('v1', spec('a', 'b')), other('v1beta1', spec('a'))]),
    found: ['field-not-round-tripped risky through v1beta1 of example.com/v1'],
  },
  {
    reason: 'a new version has a field that is not stored',
    before: crdOf([stored('v1', spec('a'))]),
    after: crdOf([stored('v1', spec('a')), other('v2', spec('a', 'b'))]),
    found: ['field-not-stored breaking of example.com/v2'],
  },
  {
    reason: 'a new version has a field that is stored',
    before: crdOf([stored('v1', spec('a'))]),
    after: crdOf([other('v1', spec('a')), stored('v2', spec('a', 'b'))]),
    found: ['field-not-round-tripped risky through v1 of example.com/v2'],
  },
  {
    reason: 'the storage version lacks two fields, and no object can have the first',
    before: crdOf([
      stored('v1', {
        type: 'object',
        properties: {
          a: { type: 'array', maxItems: 0, items: { type: 'object', properties: { x: text } } },
          b: text,
        },
      }),
      other('v1beta1', { type: 'object', properties: { a: { type: 'array', items: { type: 'object' } } } }),
    ]),
    after: crdOf([
      other('v1', {
        type: 'object',
        properties: {
          a: { type: 'array', maxItems: 0, items: { type: 'object', properties: { x: text } } },
          b: text,
        },
      }),
      stored('v1beta1', { type: 'object', properties: { a: { type: 'array', items: { type: 'object' } } } }),
    ]),
    found: ['storage-version-moved breaking of example.com/v1'],
  },
  {
    reason: 'what was lost before is not reported again',
    before: crdOf([stored('v1', spec('a', 'b')), other('v2', spec('a'))]),
    after: crdOf([stored('v1', spec('a', 'b', 'c')), other('v2', spec('a', 'c'))]),
    found: [],
  },
  {
    reason: 'a new preferred version lacks a field, whose default stands there instead',
    before: crdOf([stored('v1', subject({ ...text, default: 'blue' }))]),
    after: crdOf([stored('v1', subject({ ...text, default: 'blue' })), other('v2', spec('a'))]),
    found: ['preferred-version-changed breaking through v2 of example.com/v1'],
  },
  {
    reason: 'a new preferred version lacks an object, of whose default a part stands there instead',
    before: crdOf([stored('v1', subject({ ...spec('x', 'y').properties?.spec, default: { x: 'z' } }))]),
    after: crdOf([
      stored('v1', subject({ ...spec('x', 'y').properties?.spec, default: { x: 'z' } })),
      other('v2', spec('a')),
    ]),
    found: ['preferred-version-changed breaking through v2 of example.com/v1'],
  },
  {
    reason: 'a name that is no identifier',
    before: crdOf([stored('v1', { type: 'object', properties: { 'x.y': { ...text, default: 'z' } } })]),
    after: crdOf([
      stored('v1', { type: 'object', properties: { 'x.y': { ...text, default: 'z' } } }),
      other('v2', { type: 'object' }),
    ]),
    found: ['preferred-version-changed breaking through v2 of example.com/v1'],
  },
  {
    reason: 'a field that the old version gains with the update and the new preferred version lacks',
    before: crdOf([stored('v1', spec('a'))]),
    after: crdOf([stored('v1', spec('a', 'b')), other('v2', spec('a'))]),
    found: ['preferred-version-changed breaking through v2 of example.com/v1'],
  },
  {
    reason: 'a field that the old version gains with the update and another new version lacks',
    before: crdOf([stored('v1', spec('a'))]),
    after: crdOf([stored('v1', spec('a', 'b')), other('v1beta1', spec('a'))]),
    found: ['field-not-round-tripped risky through v1beta1 of example.com/v1'],
  },
  {
    reason: 'a field that the old version gains with the update and the new storage version lacks',
    before: crdOf([stored('v1', spec('a'))]),
    after: crdOf([other('v1', spec('a', 'b')), stored('v1beta1', spec('a'))]),
    found: ['field-not-stored breaking of example.com/v1'],
  },
  {
    reason: 'clients of the old version cannot apply a value of the new one',
    before: crdOf([stored('v1', subject({ ...text, enum: ['s'] }))]),
    after: crdOf([
      stored('v1', subject({ ...text, enum: ['s'] })),
      other('v2', subject({ ...text, enum: ['s', 'm'] })),
    ]),
    found: ['value-not-round-tripped risky through v1 of example.com/v2'],
  },
  {
    reason: 'clients of the old version read another type',
    before: crdOf([stored('v1', subject({ type: 'integer' }))]),
    after: crdOf([
      stored('v1', subject({ type: 'integer' })),
      other('v1beta1', subject({ 'x-kubernetes-int-or-string': true })),
    ]),
    found: ['value-not-round-tripped breaking through v1 of example.com/v1beta1'],
  },
  {
    reason: 'clients of the old version cannot update anything beside a field that is absent',
    before: crdOf([stored('v1', subject(text, { required: ['b'] }))]),
    after: crdOf([stored('v1', subject(text, { required: ['b'] })), other('v2', subject(text))]),
    found: ['value-not-round-tripped breaking through v1 of example.com/v2'],
  },
  {
    reason: 'a limit that moves further',
    before: crdOf([
      stored('v1', subject({ type: 'integer', maximum: 10 })),
      other('v2', subject({ type: 'integer', maximum: 20 })),
    ]),
    after: crdOf([
      stored('v1', subject({ type: 'integer', maximum: 10 })),
      other('v2', subject({ type: 'integer', maximum: 30 })),
    ]),
    found: ['value-not-round-tripped risky through v1 of example.com/v2'],
  },
  {
    reason: 'a limit that moves back: what was refused before is not reported again',
    before: crdOf([
      stored('v1', subject({ type: 'integer', maximum: 10 })),
      other('v2', subject({ type: 'integer', maximum: 30 })),
    ]),
    after: crdOf([
      stored('v1', subject({ type: 'integer', maximum: 10 })),
      other('v2', subject({ type: 'integer', maximum: 20 })),
    ]),
    found: ['maximum-lowered breaking of example.com/v2'],
  },
  {
    reason: 'a default that the storage version still has',
    before: crdOf([
      stored('v1', subject({ ...text, default: 'z' })),
      other('v1beta1', subject({ ...text, default: 'z' })),
    ]),
    after: crdOf([stored('v1', subject({ ...text, default: 'z' })), other('v1beta1', subject(text))]),
    found: [],
  },
  {
    reason: 'a rule with oldSelf, which clients of its version always met',
    before: crdOf([stored('v1', subject({ ...text, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] }))]),
    after: crdOf([
      stored('v1', subject({ ...text, 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] })),
      other('v2', subject(text)),
    ]),
    found: [],
  },
];

test.each(rows)('$reason', ({ before, after, found }) => {
  const { changes } = compareCrds(before, after);
  const serious = changes.filter((change) => change.class !== 'safe');
  expect(
    serious.map(({ kind, class: each, witness }) =>
      [kind, each, ...(witness?.through ? ['through', witness.through] : []), 'of', witness?.object?.apiVersion].join(
        ' ',
      ),
    ),
  ).toEqual(found);
});
