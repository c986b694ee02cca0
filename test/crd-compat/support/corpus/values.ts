/** What a value may be at all: its type, enum, null, and its default. */
import type { CrdSchema } from '../../../../src/crd-compat/index.ts';
import { noted, objectWith, rewritten, tightened } from './rows.ts';
import type { SchemaExpectation, SchemaRow } from './shape.ts';

const integer = { type: 'integer' } as const;
const string = { type: 'string' } as const;
const intOrString = { 'x-kubernetes-int-or-string': true } as const;

const typed: SchemaRow[] = (
  [
    [string, integer, ['seven'], [7]],
    [string, { type: 'boolean' }, ['true'], [true]],
    [string, { type: 'array', items: string }, ['one'], [['one']]],
  ] satisfies [CrdSchema, CrdSchema, unknown[], unknown[]][]
).map(([before, after, values, valuesBack]) => ({
  name: `type changed from ${before.type} to ${after.type}`,
  before,
  after,
  forth: typeChanged(values),
  back: typeChanged(valuesBack),
}));

function typeChanged(values: readonly unknown[]): SchemaExpectation {
  return {
    kind: 'type-changed',
    stored: ['safe', 'risky', 'breaking'],
    manifests: 'breaking',
    reason:
      'no old value is a new one. A stored one is read as it is, and an update that leaves it alone is let through; a server-side apply of the object is refused, since it has no longer the type of its schema',
    values,
  };
}

export const values: readonly SchemaRow[] = [
  ...typed,
  {
    name: 'type changed from object to string',
    before: { type: 'object', properties: { name: string } },
    after: string,
    forth: {
      kind: 'type-changed',
      stored: 'breaking',
      manifests: 'breaking',
      reason: 'no object is a string, and what is in a stored one is pruned on read: its schema has no fields any more',
      values: [{ name: 'one' }],
    },
    back: typeChanged(['one']),
  },
  {
    name: 'type widened from integer to number',
    before: integer,
    after: { type: 'number' },
    forth: {
      kind: 'type-changed',
      stored: ['risky', 'safe'],
      manifests: 'risky',
      reason:
        'every integer is a number; clients that read it into an integer may meet a fraction, so it is not called safe',
      values: [3, 0],
    },
    back: {
      kind: 'type-changed',
      stored: ['safe', 'risky', 'breaking'],
      manifests: 'breaking',
      reason: 'a fraction is refused now; while it stays as it is an update goes through',
      values: [1.5, 2],
    },
  },
  {
    name: 'type widened from integer to int-or-string',
    before: integer,
    after: intOrString,
    forth: {
      kind: 'type-changed',
      stored: ['risky', 'safe'],
      manifests: 'risky',
      reason:
        'every integer is accepted; clients that read it into an integer may meet a string, so it is not called safe',
      values: [3],
    },
    back: {
      kind: 'type-changed',
      stored: ['safe', 'risky', 'breaking'],
      manifests: 'breaking',
      reason: 'strings are refused now; while it stays as it is an update goes through',
      values: ['25%', 2],
    },
  },
  {
    name: 'type widened from string to int-or-string',
    before: string,
    after: intOrString,
    forth: {
      kind: 'type-changed',
      stored: ['risky', 'safe'],
      manifests: 'risky',
      reason:
        'every string is accepted; clients that read it into a string may meet a number, so it is not called safe',
      values: ['25%'],
    },
    back: {
      kind: 'type-changed',
      stored: ['safe', 'risky', 'breaking'],
      manifests: 'breaking',
      reason: 'numbers are refused now; while it stays as it is an update goes through',
      values: [2, '25%'],
    },
  },
  tightened({
    name: 'enum value taken away',
    kind: 'enum-value-removed',
    kindBack: 'enum-value-added',
    loose: { ...string, enum: ['small', 'medium', 'large'] },
    tight: { ...string, enum: ['small', 'large'] },
    lost: ['medium'],
    kept: ['small', 'large'],
    reason: 'the value is refused',
  }),
  tightened({
    name: 'enum put on a free field',
    kind: 'enum-added',
    kindBack: 'enum-removed',
    loose: string,
    tight: { ...string, enum: ['small', 'large'] },
    lost: ['medium', ''],
    kept: ['small', 'large'],
    reason: 'every other value is refused',
  }),
  tightened({
    name: 'enum put on an integer',
    kind: 'enum-added',
    kindBack: 'enum-removed',
    loose: integer,
    tight: { ...integer, enum: [1, 3, 5] },
    lost: [2],
    kept: [1, 5],
    reason: 'every other value is refused',
  }),
  rewritten(
    'enum in another order',
    [],
    [
      { ...string, enum: ['small', 'large'] },
      { ...string, enum: ['large', 'small'] },
    ],
    ['small', 'large'],
    'an enum is a set',
  ),
  {
    name: 'enum value replaced',
    before: { ...string, enum: ['small', 'large'] },
    after: { ...string, enum: ['small', 'big'] },
    forth: {
      kind: 'enum-value-removed',
      stored: 'safe',
      manifests: 'breaking',
      reason: 'the old value is refused; the stored one is let through while it stays',
      values: ['large', 'small'],
    },
    back: {
      kind: 'enum-value-removed',
      stored: 'safe',
      manifests: 'breaking',
      reason: 'the old value is refused; the stored one is let through while it stays',
      values: ['big', 'small'],
    },
  },
  {
    name: 'nullable taken away',
    before: objectWith({ size: { ...integer, nullable: true } }),
    after: objectWith({ size: integer }),
    forth: {
      kind: 'nullable-removed',
      at: '.size',
      stored: 'breaking',
      manifests: 'breaking',
      reason:
        'a manifest with null is refused. A stored null cannot be recognised as unchanged: an update of a sibling is rejected too',
      values: [noted({ size: null }), noted({ size: 1 })],
    },
    back: {
      kind: 'nullable-added',
      at: '.size',
      stored: 'safe',
      manifests: 'safe',
      reason: 'null is accepted too; nothing that was accepted is refused',
      values: [noted({ size: 1 }), noted({})],
    },
  },
  {
    name: 'nullable taken away from a field with a default',
    before: objectWith({ size: { ...integer, nullable: true, default: 3 } }),
    after: objectWith({ size: { ...integer, default: 3 } }),
    forth: {
      kind: 'nullable-removed',
      at: '.size',
      stored: 'breaking',
      manifests: 'breaking',
      reason: 'null in a field that is not nullable and has a default is dropped and defaulted: null is read as 3',
      values: [noted({ size: null }), noted({ size: 1 })],
    },
    back: {
      kind: 'nullable-added',
      at: '.size',
      stored: ['safe', 'risky'],
      manifests: ['breaking', 'risky'],
      reason:
        'a manifest with null was given the default and now keeps null. Few write null to get a default, so risky can be argued; stored objects have the default, unless they are older than it',
      values: [noted({ size: null }), noted({ size: 1 })],
    },
  },
  {
    name: 'default added to a field that was there',
    before: objectWith({ size: integer }),
    after: objectWith({ size: { ...integer, default: 3 } }),
    forth: {
      kind: 'default-added',
      at: '.size',
      stored: ['breaking', 'risky'],
      manifests: ['breaking', 'risky'],
      reason:
        'an object without the field is read with it and a manifest without it now sets it. Whether that breaks depends on what the absence meant, so risky can be argued; safe cannot',
      values: [noted({}), noted({ size: 7 })],
    },
    back: {
      kind: 'default-removed',
      at: '.size',
      stored: ['safe', 'risky', 'breaking'],
      manifests: 'breaking',
      reason:
        'a manifest without the field no longer gets one. Stored objects keep what was written when they were created',
      values: [noted({}), noted({ size: 7 })],
    },
  },
  {
    name: 'default changed',
    before: objectWith({ size: { ...integer, default: 3 } }),
    after: objectWith({ size: { ...integer, default: 4 } }),
    forth: defaultChanged(),
    back: defaultChanged(),
  },
];

function defaultChanged(): SchemaExpectation {
  return {
    kind: 'default-changed',
    at: '.size',
    stored: ['safe', 'risky', 'breaking'],
    manifests: 'breaking',
    reason:
      'the same manifest has another meaning. Stored objects keep the old default, which was written when they were created; ones from before there was a default change on read',
    values: [noted({}), noted({ size: 7 })],
  };
}
