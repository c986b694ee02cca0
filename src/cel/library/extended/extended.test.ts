import { describe, expect, it } from 'vitest';
import { INT, list, STRING } from '../../types.ts';
import { CelError, CelMap, Double, Timestamp, Uint, type Value } from '../../values.ts';
import { caller, costOf, node, overloadOf } from '../support/overloads.ts';
import { extendedLibraries } from './index.ts';
import { lists } from './lists.ts';
import { network } from './network.ts';
import { strings } from './strings.ts';

describe('format', () => {
  const format = (template: string, ...args: Value[]): Value | CelError =>
    caller(strings)('string_format', template, args);
  it.each([
    { template: '%f', value: 1234567.891, is: '1234567.891000', reason: 'no groups' },
    { template: '%.1f', value: 7, is: '7.0', reason: 'an int too' },
    { template: '%e', value: 12345.678, is: '1.234568e+04', reason: 'a plain exponent' },
    { template: '%.2e', value: new Uint(500), is: '5.00e+02', reason: 'the precision counts' },
    { template: '%d', value: 1.5, is: '1.5', reason: 'a double too' },
    { template: '%d', value: Number.NEGATIVE_INFINITY, is: '-Infinity', reason: 'infinity by its word' },
    { template: '%s', value: new Double(-0), is: '-0', reason: 'negative zero' },
    { template: '%s', value: ['a', 1.5, Number.NaN], is: '[a, 1.5, NaN]', reason: 'no quotes in lists' },
    {
      template: '%s',
      value: new CelMap([
        ['b', 1],
        [1, 'x'],
      ]),
      is: '{1: x, b: 1}',
      reason: 'nor in maps',
    },
    { template: '%s', value: new Timestamp(0, 0, 3600), is: '1970-01-01T00:00:00Z', reason: 'times in UTC' },
    { template: '%X', value: 255, is: 'FF', reason: 'hexadecimal' },
  ])('$template: $reason', ({ template, value, is }) => expect(format(template, value as Value)).toBe(is));

  it.each([
    { template: '%.101f', value: 1.5, reason: 'more than a hundred digits' },
    { template: '%f', value: 'NaN', reason: 'a word is no number any more' },
    { template: '%s', value: [new CelMap([[1, [/./ as never]]])], reason: 'what has no text, however deep' },
  ])('refuses $reason', ({ template, value }) => expect(format(template, value as Value)).toBeInstanceOf(CelError));
});

describe('string functions also charge the size of the result', () => {
  const long = 'a'.repeat(25);
  it.each([
    { id: 'string_char_at_int', args: [long, 0], cost: 5, reason: 'a walk, a character and the call' },
    { id: 'string_index_of_string', args: [long, 'abc'], cost: 9, reason: 'text times part' },
    { id: 'string_lower_ascii', args: [long], cost: 29, reason: 'a walk and the result' },
    { id: 'string_replace_string_string', args: ['', '', 'b'], cost: 3, reason: 'nothing counts as one' },
    { id: 'string_split_string', args: ['a,b', ','], cost: 14, reason: 'a list and two parts' },
    { id: 'list_join_string', args: [['a', 'b'], ','], cost: 5, reason: 'a walk and the result' },
  ])('$id: $reason', ({ id, args, cost }) => expect(costOf([strings], id, ...(args as Value[]))).toBe(cost));

  const sized = (min: number, max: number) => node({ min, max }, { type: STRING });
  it.each([
    { id: 'string_char_at_int', args: [sized(1, 1)], cost: { min: 3, max: 5 }, size: { min: 0, max: 1 } },
    { id: 'string_reverse', args: [], cost: { min: 12, max: 29 }, size: { min: 10, max: 25 } },
    { id: 'string_trim', args: [], cost: { min: 2, max: 29 }, size: { min: 0, max: 25 } },
    {
      id: 'string_substring_int_int',
      args: [node({ min: 1, max: 1 }, { literal: 2 }), node({ min: 1, max: 1 }, { literal: 5 })],
      cost: { min: 5, max: 7 },
      size: { min: 3, max: 3 },
    },
    { id: 'string_index_of_string', args: [sized(2, 3)], cost: { min: 3, max: 9 }, size: undefined },
    {
      id: 'string_replace_string_string',
      args: [sized(0, 2), sized(0, 1)],
      cost: { min: 3, max: 58 },
      size: { min: 1, max: 52 },
    },
    { id: 'string_split_string', args: [sized(1, 1)], cost: { min: 13, max: 39 }, size: { min: 0, max: 25 } },
  ])('estimates $id', ({ id, args, cost, size }) => {
    expect(overloadOf([strings], id).estimate?.(sized(10, 25), args)).toEqual({
      cost,
      ...(size && { resultSize: size }),
    });
  });
});

describe('lists', () => {
  const call = caller(lists);
  it.each([
    { count: -1, reason: 'a negative length' },
    { count: 1_000_001, reason: 'more than a million' },
  ])('range refuses $reason', ({ count }) => {
    expect(call('lists_range', count)).toMatchObject({ code: 'invalid_argument' });
  });

  it('keeps the functions that did not change', () => {
    expect(call('list_slice', [1, 2, 3], 1, 2)).toEqual([2]);
    expect(call('list_reverse', [1, 2])).toEqual([2, 1]);
    expect(call('list_int_sort', [2, 1])).toEqual([1, 2]);
    expect(lists.macros).toHaveLength(1);
  });

  it('estimates the size of a flattened list', () => {
    expect(costOf([lists], 'list_flatten_int', [[1, [2]], 3], 2)).toBe(14);
    expect(costOf([lists], 'list_string_sort', ['a', 'b', 'c', 'd'])).toBe(44);
  });

  const strings$ = node(
    { min: 1, max: 3 },
    { type: list(STRING), element: node({ min: 0, max: 30 }, { type: STRING }) },
  );
  it.each([
    {
      id: 'list_distinct',
      target: strings$,
      cost: { min: 11, max: 65 },
      reason: 'comparing strings costs their length',
    },
    { id: 'list_string_sort', target: strings$, cost: { min: 11, max: 65 }, reason: 'so does sorting' },
    {
      id: 'list_int_sort',
      target: node({ min: 1, max: 3 }, { type: list(INT) }),
      cost: { min: 13, max: 29 },
      reason: 'ints cost one',
    },
    {
      id: 'list_flatten',
      target: node(
        { min: 1, max: 3 },
        { type: list(list(INT)), element: node({ min: 0, max: 4 }, { type: list(INT) }) },
      ),
      cost: { min: 11, max: 23 },
      reason: 'the lists inside count',
    },
  ])('estimates $id: $reason', ({ id, target, cost }) => {
    expect(overloadOf([lists], id).estimate?.(target, [])?.cost).toEqual(cost);
  });
});

describe('network', () => {
  const call = caller(network);
  it.each([
    { text: '192.168.1.0/24', mask: true, reason: 'no bits after the prefix' },
    { text: '192.168.1.5/24', mask: false, reason: 'some bits' },
    { text: '::1/128', mask: true, reason: 'an address of its own' },
  ])('isMask of $text: $reason', ({ text, mask }) => {
    expect(call('cidr_is_mask', call('string_to_cidr', text) as Value)).toBe(mask);
  });

  it('has its own error messages', () => {
    expect(call('string_to_cidr', 'x')).toMatchObject({
      message: 'CIDR "x" parse error during conversion from string: netip.ParsePrefix("x"): no \'/\'',
    });
  });

  it.each([
    { name: 'ip', text: 'x', wrong: true },
    { name: 'ip', text: '::1', wrong: false },
    { name: 'cidr', text: '10.0.0.0/33', wrong: true },
    { name: 'cidr', text: '10.0.0.0/8', wrong: false },
  ])('looks at the literal $text of $name before it runs', ({ name, text, wrong }) => {
    const place = { id: 0, offset: 0, start: 0, end: 0 };
    const validator = network.validators?.find((each) => each.function === name);
    const problem = validator?.validate(
      { ...place, kind: 'call', function: name, args: [{ ...place, kind: 'literal', value: text }] },
      () => STRING,
    );
    expect(problem !== undefined).toBe(wrong);
  });
});

it('declares every overload once', () => {
  const ids = extendedLibraries.flatMap(({ functions }) =>
    (functions ?? []).flatMap((each) => each.overloads.map(({ id }) => id)),
  );
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});
