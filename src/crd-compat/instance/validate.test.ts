/**
 * Peculiarities of the API server's validation, row by row. test/crd-compat/instance.test.ts compares with a real API
 * server.
 */
import { describe, expect, test } from 'vitest';
import type { CrdSchema } from '../schema.ts';
import { validator } from './validate.ts';

const keywords = (schema: CrdSchema, value: unknown, old?: unknown): readonly string[] =>
  validator(schema, { resource: false })
    .validate(value, old)
    .map(({ path, keyword }) => `${path} ${keyword}`.trim());

const anObject = (properties: Readonly<Record<string, CrdSchema>>, more: CrdSchema = {}): CrdSchema => ({
  type: 'object',
  properties,
  ...more,
});

describe('one value', () => {
  test.each<{ reason: string; schema: CrdSchema; value: unknown; faults: readonly string[] }>([
    { reason: 'lengths count characters', schema: { type: 'string', maxLength: 1 }, value: '😀', faults: [] },
    { reason: 'null that is not allowed', schema: { type: 'string' }, value: null, faults: ['type'] },
    {
      reason: 'null where it may be',
      schema: { type: 'string', nullable: true, minLength: 1 },
      value: null,
      faults: [],
    },
    {
      reason: 'null is in no enum',
      schema: { type: 'string', nullable: true, enum: ['a', null] },
      value: null,
      faults: ['enum'],
    },
    { reason: 'a fraction is cut off for an enum', schema: { type: 'number', enum: [1] }, value: 1.5, faults: [] },
    {
      reason: 'a number is a character for an enum',
      schema: { 'x-kubernetes-int-or-string': true, enum: ['A'] },
      value: 65,
      faults: [],
    },
    { reason: 'bounds are cut off for whole numbers', schema: { type: 'number', minimum: 1.5 }, value: 1, faults: [] },
    { reason: 'not for others', schema: { type: 'number', minimum: 1.5 }, value: 1.4, faults: ['minimum'] },
    {
      reason: 'a bound that is no integer refuses every integer',
      schema: { type: 'integer', maximum: 10.5 },
      value: 1,
      faults: ['maximum'],
    },
    {
      reason: 'a bound past int64 is the smallest one for whole numbers',
      schema: { type: 'number', maximum: 1e20 },
      value: 5,
      faults: ['maximum'],
    },
    { reason: 'multiples of fractions', schema: { type: 'number', multipleOf: 0.1 }, value: 0.3, faults: [] },
    {
      reason: 'no whole number is a multiple of a fraction',
      schema: { type: 'number', multipleOf: 0.5 },
      value: 3,
      faults: ['multipleOf'],
    },
    { reason: 'int32', schema: { type: 'integer', format: 'int32' }, value: 2 ** 31, faults: ['format'] },
    {
      reason: 'nearly whole is of the type, and still no integer',
      schema: { type: 'integer' },
      value: 1.0000000001,
      faults: ['format'],
    },
    {
      reason: 'a list passes for text with a format',
      schema: { type: 'string', format: 'date' },
      value: ['a'],
      faults: [],
    },
    { reason: 'not for text without', schema: { type: 'string' }, value: ['a'], faults: ['type'] },
    { reason: 'patterns are looked for anywhere', schema: { type: 'string', pattern: 'b' }, value: 'abc', faults: [] },
    { reason: 'a pattern that is none', schema: { type: 'string', pattern: '(' }, value: '(', faults: ['pattern'] },
    {
      reason: 'a key that is null is there',
      schema: anObject({ a: { type: 'string', nullable: true } }, { required: ['a'] }),
      value: { a: null },
      faults: [],
    },
    { reason: 'required', schema: anObject({}, { required: ['a'] }), value: {}, faults: ['.a required'] },
    {
      reason: 'none of the alternatives',
      schema: { type: 'integer', anyOf: [{ minimum: 5 }, { multipleOf: 2 }] },
      value: 3,
      faults: ['anyOf'],
    },
    {
      reason: 'two of the alternatives',
      schema: { type: 'integer', oneOf: [{ minimum: 5 }, { multipleOf: 2 }] },
      value: 6,
      faults: ['oneOf'],
    },
    { reason: 'not', schema: { type: 'string', not: { enum: ['a'] } }, value: 'a', faults: ['not'] },
    { reason: 'sets', schema: setOf({ type: 'integer' }), value: [1, 2, 1, 1], faults: ['[2] x-kubernetes-list-type'] },
    {
      reason: 'maps by key',
      schema: mapBy('k', {}),
      value: [{ k: 'a' }, { k: 'a' }],
      faults: ['[1] x-kubernetes-list-type'],
    },
    {
      reason: 'elements without the key are the same',
      schema: { ...mapBy('k', {}), items: anObject({ k: { type: 'string' } }) },
      value: [{}, {}],
      faults: ['[1] x-kubernetes-list-type'],
    },
    {
      reason: 'a resource inside has a type',
      schema: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      value: { kind: 'a b', metadata: { labels: { 'a/b/c': 'd' } } },
      faults: ['.apiVersion required', '.kind metadata', '.metadata.labels metadata'],
    },
  ])('$reason', ({ schema, value, faults }) => {
    expect(keywords(schema, value)).toEqual(faults);
  });
});

function setOf(items: CrdSchema): CrdSchema {
  return { type: 'array', items, 'x-kubernetes-list-type': 'set' };
}

function mapBy(key: string, value: CrdSchema): CrdSchema {
  return {
    type: 'array',
    items: anObject({ [key]: { type: 'string' }, v: { type: 'string', ...value } }, { required: [key] }),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [key],
  };
}

describe('an update', () => {
  const short: CrdSchema = { type: 'string', maxLength: 1 };
  const open = { 'x-kubernetes-preserve-unknown-fields': true };
  test.each<{ reason: string; schema: CrdSchema; old: unknown; value: unknown; faults: readonly string[] }>([
    {
      reason: 'what is unchanged is excused',
      schema: anObject({ a: short, b: short }),
      old: { a: 'long', b: 'x' },
      value: { a: 'long', b: 'y' },
      faults: [],
    },
    {
      reason: 'what is changed is not',
      schema: anObject({ a: short }),
      old: { a: 'long' },
      value: { a: 'longer' },
      faults: ['.a maxLength'],
    },
    {
      reason: 'elements are followed by their keys',
      schema: mapBy('k', { maxLength: 1 }),
      old: [{ k: 'a', v: 'long' }],
      value: [
        { k: 'b', v: 'x' },
        { k: 'a', v: 'long' },
      ],
      faults: [],
    },
    {
      reason: 'not by their places',
      schema: { type: 'array', items: short },
      old: ['long', 'x'],
      value: ['long', 'y'],
      faults: ['[0] maxLength'],
    },
    {
      reason: 'a list that is the same as a whole is excused',
      schema: { type: 'array', items: short },
      old: ['long'],
      value: ['long'],
      faults: [],
    },
    {
      reason: 'an object with a field that the schema does not know is never taken as unchanged',
      schema: anObject({ o: anObject({}, { required: ['a'], ...open }) }),
      old: { o: { z: 1 } },
      value: { o: { z: 1 } },
      faults: ['.o.a required'],
    },
    {
      reason: 'junctors are excused with what they are at, and only with that',
      schema: anObject({ a: { type: 'integer' } }, { anyOf: [{ properties: { a: { minimum: 5 } } }] }),
      old: { a: 1, b: 1 },
      value: { a: 1 },
      faults: ['anyOf'],
    },
    {
      reason: 'sets that were wrong before may stay so',
      schema: setOf({ type: 'string' }),
      old: ['a', 'a'],
      value: ['b', 'b'],
      faults: [],
    },
    {
      reason: 'valid sets must stay valid',
      schema: setOf({ type: 'string' }),
      old: ['a', 'b'],
      value: ['b', 'b'],
      faults: ['[1] x-kubernetes-list-type'],
    },
  ])('$reason', ({ schema, old, value, faults }) => {
    expect(keywords(schema, value, old)).toEqual(faults);
  });
});

describe('rules', () => {
  const rule = (text: string, more: object = {}): CrdSchema => ({
    'x-kubernetes-validations': [{ rule: text, ...more }],
  });
  const fault = 'x-kubernetes-validations';
  test.each<{ reason: string; schema: CrdSchema; old?: unknown; value: unknown; faults: readonly string[] }>([
    {
      reason: 'a rule about a change says nothing on a create',
      schema: { type: 'integer', ...rule('self >= oldSelf') },
      value: 1,
      faults: [],
    },
    {
      reason: 'on an update it does',
      schema: { type: 'integer', ...rule('self >= oldSelf') },
      old: 2,
      value: 1,
      faults: [fault],
    },
    {
      reason: 'unless it says that there may be nothing to compare with',
      schema: { type: 'integer', ...rule('oldSelf.hasValue()', { optionalOldSelf: true }) },
      value: 1,
      faults: [fault],
    },
    {
      reason: 'elements of a map by key are compared',
      schema: { ...mapBy('k', rule('self == oldSelf')) },
      old: [{ k: 'a', v: '1' }],
      value: [
        { k: 'b', v: '3' },
        { k: 'a', v: '2' },
      ],
      faults: [`[1].v ${fault}`],
    },
    {
      reason: 'a rule that is false of what is unchanged is excused',
      schema: anObject({ a: { type: 'integer', ...rule('self > 5') } }),
      old: { a: 1 },
      value: { a: 1 },
      faults: [],
    },
    {
      reason: 'one that fails is not',
      schema: anObject({ a: { type: 'integer', ...rule('10 / self > 1') } }),
      old: { a: 0 },
      value: { a: 0 },
      faults: [`.a ${fault}`],
    },
    {
      reason: 'a part that is not of its type fails only the rules that read it',
      schema: anObject({ a: { type: 'integer' }, b: { type: 'integer' } }, rule('self.b > 1')),
      old: { a: 'text', b: 2 },
      value: { a: 'text', b: 3 },
      faults: [],
    },
    {
      reason: 'and those, even when they only ask whether it is there',
      schema: anObject({ a: { type: 'integer' }, b: { type: 'integer' } }, rule('has(self.a)')),
      old: { a: 'text', b: 2 },
      value: { a: 'text', b: 3 },
      faults: [fault],
    },
    {
      reason: 'what the schema does not know counts when objects are compared',
      schema: anObject(
        { a: { type: 'integer' } },
        { ...rule('self == oldSelf'), 'x-kubernetes-preserve-unknown-fields': true },
      ),
      old: { z: 1 },
      value: { z: 2 },
      faults: [fault],
    },
    {
      reason: 'what has no type is compared too',
      schema: anObject({ a: { 'x-kubernetes-preserve-unknown-fields': true } }, rule('self == oldSelf')),
      old: { a: { b: 1 } },
      value: { a: { b: 1 } },
      faults: [],
    },
    {
      reason: 'but never equal to what comes out of an optional, which has no schema',
      schema: anObject(
        { a: { 'x-kubernetes-preserve-unknown-fields': true } },
        rule('!oldSelf.hasValue() || oldSelf.value() == self', { optionalOldSelf: true }),
      ),
      old: { a: { b: 1 } },
      value: { a: { b: 1 } },
      faults: [fault],
    },
    {
      reason: 'known fields are, by their own names',
      schema: anObject(
        { 'a-b': { type: 'integer' }, namespace: { type: 'string' } },
        rule('!oldSelf.hasValue() || oldSelf.value() == self', { optionalOldSelf: true }),
      ),
      old: { 'a-b': 1, namespace: 'x' },
      value: { 'a-b': 1, namespace: 'x' },
      faults: [],
    },
    {
      reason: 'a text where a number should be fails them',
      schema: anObject({ a: { type: 'number', ...rule('self > 1.0') } }),
      old: { a: 'text' },
      value: { a: 'text' },
      faults: [`.a ${fault}`],
    },
    {
      reason: 'they wait until the shape is right',
      schema: anObject({ a: { type: 'integer' } }, { required: ['b'], ...rule('self.a > 5') }),
      value: { a: 1 },
      faults: ['.b required'],
    },
    {
      reason: 'null is not looked at',
      schema: { type: 'integer', nullable: true, ...rule('self > 5') },
      value: null,
      faults: [],
    },
    {
      reason: 'a rule may point elsewhere',
      schema: anObject({ a: anObject({ 'b.c': { type: 'integer' } }) }, rule('false', { fieldPath: ".a['b.c']" })),
      value: {},
      faults: [`.a["b.c"] ${fault}`],
    },
    {
      reason: 'a rule that cannot be compiled',
      schema: { type: 'integer', ...rule('self.a') },
      value: 1,
      faults: [fault],
    },
    { reason: 'one that is no bool', schema: { type: 'integer', ...rule('self + 1') }, value: 1, faults: [fault] },
  ])('$reason', ({ schema, old, value, faults }) => {
    expect(keywords(schema, value, old)).toEqual(faults);
  });

  test.each([
    { reason: 'a message', more: { message: ' too small ' }, message: 'too small' },
    { reason: 'none', more: {}, message: 'failed rule: self > 5' },
    { reason: 'a computed one', more: { message: 'no', messageExpression: "'is ' + string(self)" }, message: 'is 1' },
    { reason: 'one that fails', more: { message: 'no', messageExpression: 'string(1 / (self - 1))' }, message: 'no' },
    { reason: 'one of two lines', more: { message: 'no', messageExpression: "'a\\nb'" }, message: 'no' },
  ])('say why: $reason', ({ more, message }) => {
    const { validate } = validator({ type: 'integer', ...rule('self > 5', more) }, { resource: false });
    expect(validate(1)).toEqual([{ path: '', keyword: fault, message, rule: 'self > 5' }]);
  });

  test('stop once their budget is spent', () => {
    const costly = Array.from({ length: 15 }, () => ({
      rule: "self.all(x, self.all(y, (x + y).contains('z') == false))",
    }));
    const schema: CrdSchema = { type: 'array', items: { type: 'string' }, 'x-kubernetes-validations': costly };
    const faults = validator(schema, { resource: false }).validate(Array.from({ length: 450 }, () => 'abc'));
    expect(faults).toHaveLength(1);
    expect(faults[0]?.message).toContain('cost');
  });
});

test('metadata of a whole resource is looked at', () => {
  const { validate } = validator({
    type: 'object',
    'x-kubernetes-validations': [{ rule: "self.metadata.name != 'no'" }],
  });
  const object = (metadata: object): object => ({ apiVersion: 'a/v1', kind: 'A', metadata });
  expect(validate(object({ name: 'yes' }))).toEqual([]);
  expect(validate(object({ name: 'no' }))).toMatchObject([{ keyword: 'x-kubernetes-validations' }]);
  expect(validate(object({ name: 'Upper' }))).toMatchObject([{ path: '.metadata.name' }]);
  expect(validate(object({ name: 'a', annotations: { 'a b': 'c' } }))).toMatchObject([
    { path: '.metadata.annotations' },
  ]);
  expect(validate(object({ name: 'a', labels: { a: 1 } }))).toMatchObject([{ path: '.metadata' }]);
});
