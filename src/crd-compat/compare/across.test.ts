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
