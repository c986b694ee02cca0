import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UNBOUNDED } from '../../declarations.ts';
import { INT, list, STRING } from '../../types.ts';
import { Double, Duration, double, INT_MAX, Timestamp, Uint, type Value } from '../../values.ts';
import { caller, costOf, node } from '../support/overloads.ts';
import { lists, walkEstimate } from './lists.ts';

const call = caller(lists);
const NOON = new Timestamp(43_200, 0);

describe('isSorted', () => {
  it.each([
    { of: [1, 2, 2, 3], type: 'int', sorted: true, reason: 'equal ones may follow each other' },
    { of: [2, 1], type: 'int', sorted: false, reason: 'falling' },
    { of: [], type: 'int', sorted: true, reason: 'nothing' },
    { of: ['a', '\ue000', '😀'], type: 'string', sorted: true, reason: 'strings are ordered by code points' },
    { of: [2.5, Number.NaN, 1.5], type: 'double', sorted: true, reason: 'NaN has no order' },
    { of: [1, 'a', 0], type: 'int', sorted: true, reason: 'nor have two types' },
    { of: [false, true], type: 'bool', sorted: true, reason: 'false comes first' },
  ])('$sorted for $reason', ({ of, type, sorted }) => {
    expect(call(`list_${type}_is_sorted_bool`, of as Value[])).toBe(sorted);
  });

  it('accepts only types with an order', () => {
    expect(call('list_int_is_sorted_bool', [1, null])).toMatchObject({ code: 'no_such_overload' });
  });
});

describe('sum', () => {
  it.each([
    { id: 'list_int_sum_int', of: [1, 3], is: 4, reason: 'ints' },
    { id: 'list_int_sum_int', of: [], is: 0, reason: 'nothing is zero' },
    {
      id: 'list_int_sum_int',
      of: [Number.MAX_SAFE_INTEGER, 1, -1],
      is: Number.MAX_SAFE_INTEGER,
      reason: 'past 2^53 and back',
    },
    { id: 'list_uint_sum_uint', of: [new Uint(1), new Uint(2)], is: new Uint(3), reason: 'uints' },
    { id: 'list_double_sum_double', of: [new Double(1), 0.5], is: 1.5, reason: 'doubles' },
    { id: 'list_double_sum_double', of: [0.5, 0.5], is: new Double(1), reason: 'doubles that make a whole number' },
    {
      id: 'list_duration_sum_duration',
      of: [new Duration(1n), new Duration(2n)],
      is: new Duration(3n),
      reason: 'durations',
    },
    {
      id: 'list_duration_sum_duration',
      of: [new Duration(1_000_000_000n), NOON],
      is: new Timestamp(43_201, 0),
      reason: 'a time among durations',
    },
  ])('of $reason', ({ id, of, is }) => expect(call(id, of as Value[])).toEqual(is));

  it.each([
    { id: 'list_int_sum_int', of: [INT_MAX, 1, -1], code: 'overflow', reason: 'out of range on the way' },
    { id: 'list_uint_sum_uint', of: [new Uint(2n ** 64n - 1n), new Uint(1)], code: 'overflow', reason: 'past uint64' },
    {
      id: 'list_duration_sum_duration',
      of: [new Duration(INT_MAX), new Duration(1n)],
      code: 'overflow',
      reason: 'past int64 nanoseconds',
    },
    { id: 'list_int_sum_int', of: [1, 1.5], code: 'no_such_overload', reason: 'an int and a double' },
    { id: 'list_duration_sum_duration', of: [NOON, NOON], code: 'no_such_overload', reason: 'two times' },
    { id: 'list_double_sum_double', of: [0.5, 1], code: 'no_such_overload', reason: 'a double and an int' },
  ])('fails for $reason', ({ id, of, code }) => expect(call(id, of as Value[])).toMatchObject({ code }));

  it('is the exact sum of any ints that stay in range', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(2n ** 58n), max: 2n ** 58n }), { maxLength: 16 }), (numbers) => {
        const values = numbers.map((each) => (Number.isSafeInteger(Number(each)) ? Number(each) : each));
        const sum = call('list_int_sum_int', values);
        expect(BigInt(sum as number)).toBe(numbers.reduce((total, each) => total + each, 0n));
      }),
    );
  });
});

describe('min and max', () => {
  it.each([
    { of: [3, 1, 2], min: 1, max: 3, reason: 'ints' },
    { of: [1], min: 1, max: 1, reason: 'one' },
    { of: [1, new Uint(2), 0.5], min: 0.5, max: new Uint(2), reason: 'numbers of all types' },
  ])('of $reason', ({ of, min, max }) => {
    expect(call('list_int_min_int', of as Value[])).toEqual(min);
    expect(call('list_int_max_int', of as Value[])).toEqual(max);
  });

  it('fail on an empty list', () => {
    expect(call('list_int_min_int', [])).toMatchObject({
      code: 'invalid_argument',
      message: 'min called on empty list',
    });
  });
});

it.each([
  { of: [1, 2, 2, 3], item: 2, first: 1, last: 2, reason: 'twice' },
  { of: [1], item: double(1), first: 0, last: 0, reason: 'equal across number types' },
  { of: [1], item: 'a', first: -1, last: -1, reason: 'not there' },
  { of: [[1], [2]], item: [2], first: 1, last: 1, reason: 'a list in a list' },
])('indexOf and lastIndexOf of an existing element: $reason', ({ of, item, first, last }) => {
  expect(call('list_a_index_of_int', of as Value[], item as Value)).toBe(first);
  expect(call('list_a_last_index_of_int', of as Value[], item as Value)).toBe(last);
});

describe('costs', () => {
  it('are one traversal of the list', () => {
    expect(costOf([lists], 'list_int_sum_int', [1, 2, 3])).toBe(3);
    expect(costOf([lists], 'list_string_is_sorted_bool', ['a'.repeat(25), 'b'])).toBe(2);
  });

  it.each([
    {
      target: node({ min: 1, max: 5 }, { type: list(INT), element: node({ min: 1, max: 1 }, { type: INT }) }),
      cost: { min: 1, max: 5 },
      reason: 'one an element',
    },
    {
      target: node({ min: 0, max: 5 }, { type: list(STRING), element: node({ min: 0, max: 30 }, { type: STRING }) }),
      cost: { min: 0, max: 20 },
      reason: 'and a walk over each string',
    },
    { target: node({ min: 0, max: 42 }, { type: STRING }), cost: { min: 0, max: 5 }, reason: 'a string is searched' },
    {
      target: node({ min: 0, max: UNBOUNDED }, { type: list(INT) }),
      cost: { min: 0, max: UNBOUNDED },
      reason: 'nothing known',
    },
  ])('estimates $reason', ({ target, cost }) => expect(walkEstimate(target, [])?.cost).toEqual(cost));
});
