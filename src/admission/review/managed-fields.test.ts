import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { decodeJson } from '../../cel/index.ts';
import { decodeLeavingManagedFields } from './managed-fields.ts';

/** Long enough to be left as text. */
const managed = [
  {
    manager: 'kubectl',
    fieldsV1: { 'f:spec': { 'k:{"name":"a]["}': { '.': {}, 'v:"}],\\\\"': {} }, [`f:${'x'.repeat(200)}`]: {} } },
  },
];
const metadata = { name: 'a', managedFields: managed, labels: { app: 'a' } };

const isLater = (value: unknown): boolean => Object.getOwnPropertyDescriptor(value, 'managedFields')?.get !== undefined;

describe('a review, with managedFields left as text', () => {
  const rows: { reason: string; review: unknown; later: boolean }[] = [
    {
      reason: 'a create has them in one object',
      review: { request: { object: { metadata }, oldObject: null } },
      later: true,
    },
    {
      reason: 'an update has them in both',
      review: { request: { object: { metadata }, oldObject: { metadata } } },
      later: true,
    },
    {
      reason: 'a few are decoded at once',
      review: { request: { object: { metadata: { managedFields: [{ manager: 'a' }] } } } },
      later: false,
    },
    {
      reason: 'a field of that name elsewhere is not taken for them',
      review: { request: { object: { metadata: { name: 'a' }, spec: { managedFields: managed } } } },
      later: false,
    },
    {
      reason: 'nor is one beside them',
      review: { request: { object: { metadata, spec: { managedFields: managed } } } },
      later: false,
    },
    {
      reason: 'nor a third',
      review: { request: { object: { metadata, spec: { managedFields: managed } }, oldObject: { metadata } } },
      later: false,
    },
    {
      reason: 'nor the end of another name',
      review: { request: { object: { metadata: { ',"managedFields': managed, 'a"managedFields': managed } } } },
      later: false,
    },
    {
      reason: 'a text that looks like them is a text',
      review: { request: { object: { metadata: { annotations: { last: JSON.stringify({ metadata }) } } } } },
      later: false,
    },
  ];
  test.each(rows)('$reason', ({ review, later }) => {
    const text = JSON.stringify(review);
    const decoded = decodeLeavingManagedFields(text) as typeof rows;
    const { object } = (decoded as unknown as { request: { object: { metadata: object } } }).request;
    expect(isLater(object.metadata)).toBe(later);
    expect(decoded).toEqual(JSON.parse(text));
    expect(isLater(object.metadata)).toBe(false);
  });

  test.each([
    ['a list that is not closed', `{"request":{"object":{"metadata":{"managedFields":[${'"x",'.repeat(100)}`],
    ['text after the list that is no JSON', `${JSON.stringify({ request: { object: { metadata } } })}!`],
  ])('%s is refused with its place in the whole text', (_reason, text) => {
    const message = (decode: (text: string) => unknown): string => {
      try {
        decode(text);
      } catch (error) {
        return (error as Error).message;
      }
      return 'decoded';
    };
    expect(message(decodeLeavingManagedFields)).toBe(message(decodeJson));
    expect(message(decodeJson)).toMatch(/offset/);
  });

  test('of two lists under one name the last counts, as in JSON.parse', () => {
    const list = JSON.stringify(managed);
    const text = `{"request":{"object":{"metadata":{"managedFields":${list},"managedFields":${list.replace('kubectl', 'last')}}}}}`;
    expect(decodeLeavingManagedFields(text)).toEqual(JSON.parse(text));
  });

  it('gives what decodeJson gives, wherever such names are', () => {
    const key = fc.constantFrom(
      'managedFields',
      'metadata',
      'object',
      'oldObject',
      'request',
      '"managedFields":[',
      'a',
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<unknown>(managed, [], 1.5, null, 'x', '"managedFields":['),
        fc.array(tie('tree'), { maxLength: 2 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    const object = fc.option(fc.record({ metadata: fc.record({ managedFields: tree, a: tree }), spec: tree }));
    const review = fc.record({ request: fc.record({ object, oldObject: object, options: tree }) });
    fc.assert(
      fc.property(review, (value) => {
        const text = JSON.stringify(value);
        expect(decodeLeavingManagedFields(text)).toEqual(decodeJson(text));
      }),
    );
  });
});
