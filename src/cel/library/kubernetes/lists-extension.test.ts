import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { macroTable } from '../../parse/macros.ts';
import { parse } from '../../parse/parser.ts';
import { list, STRING } from '../../types.ts';
import { Double, type Value } from '../../values.ts';
import { caller, costOf, node, overloadOf } from '../support/overloads.ts';
import { listsExtension } from './lists-extension.ts';

const call = caller(listsExtension);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('slice', () => {
  it.each([
    { start: 1, end: 3, is: [2, 3], reason: 'from the middle' },
    { start: 0, end: 4, is: [1, 2, 3, 4], reason: 'all' },
    { start: 4, end: 4, is: [], reason: 'nothing at the end' },
  ])('$start to $end: $reason', ({ start, end, is }) =>
    expect(call('list_slice', [1, 2, 3, 4], start, end)).toEqual(is));

  it.each([
    { start: 3, end: 1, reason: 'backwards' },
    { start: 1, end: 5, reason: 'past the end' },
    { start: -1, end: 2, reason: 'before the start' },
    { start: 0, end: 2n ** 62n, reason: 'far past the end' },
  ])('refuses $start to $end: $reason', ({ start, end }) => {
    expect(call('list_slice', [1, 2, 3, 4], start, end)).toMatchObject({ code: 'invalid_argument' });
  });
});

describe('flatten', () => {
  it.each([
    { of: [1, [2, [3, 4]]], depth: 1, is: [1, 2, [3, 4]], reason: 'one level' },
    { of: [1, [2, [3, [4]]]], depth: 2, is: [1, 2, 3, [4]], reason: 'two levels' },
    { of: [1, [2]], depth: 0, is: [1, [2]], reason: 'none' },
    { of: [[], [[]]], depth: 9, is: [], reason: 'empty lists vanish' },
  ])('takes $reason apart', ({ of, depth, is }) => expect(call('list_flatten_int', of as Value[], depth)).toEqual(is));

  it('rejects a negative depth and values that are not lists', () => {
    expect(call('list_flatten_int', [1], -1)).toMatchObject({ code: 'invalid_argument' });
    expect(call('list_flatten', 'a')).toMatchObject({ code: 'no_such_overload' });
  });

  it('returns a flat list unchanged, although the declaration requires nested lists', () => {
    expect(overloadOf([listsExtension], 'list_flatten').singleton).toBe(true);
    expect(call('list_flatten', [1, 2, 3])).toEqual([1, 2, 3]);
  });
});

describe('sort', () => {
  it.each([
    { of: [3, 1, 2], is: [1, 2, 3], reason: 'ints' },
    { of: ['b', 'c', 'a'], is: ['a', 'b', 'c'], reason: 'strings' },
    { of: [bytes('d'), bytes('a'), bytes('aa')], is: [bytes('a'), bytes('aa'), bytes('d')], reason: 'bytes' },
    { of: [true, false], is: [false, true], reason: 'bools' },
    { of: [], is: [], reason: 'nothing' },
    { of: [2.5, Number.NaN, 1.5], is: [2.5, Number.NaN, 1.5], reason: 'NaN is a wall that nothing passes' },
  ])('orders $reason', ({ of, is }) => expect(call('list_int_sort', of as Value[])).toEqual(is));

  it.each([
    { of: [1, 'b'], reason: 'two types' },
    { of: [1, new Double(2)], reason: 'int and double are two types here' },
    { of: [[1, 2, 3]], reason: 'lists have no order' },
    { of: [null], reason: 'null has no order' },
  ])('refuses $reason', ({ of }) => {
    expect(call('list_int_sort', of as Value[])).toMatchObject({ code: 'invalid_argument' });
  });

  it('sorts long lists, and does not modify its argument', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 13, maxLength: 60 }), (numbers) => {
        const before = [...numbers];
        expect(call('list_int_sort', numbers)).toEqual([...numbers].sort((left, right) => left - right));
        expect(numbers).toEqual(before);
      }),
    );
  });
});

describe('sortBy', () => {
  const expand = (text: string) => parse(text, { macros: macroTable(listsExtension.macros ?? []) });

  it('sorts by keys', () => {
    expect(call('list_int_sortByAssociatedKeys', ['foo', 'bar', 'baz'], [3, 1, 2])).toEqual(['bar', 'baz', 'foo']);
  });

  it('binds the list once and maps its keys', () => {
    const { ast } = expand('x.y.sortBy(e, -e.z)');
    expect(ast).toMatchObject({
      kind: 'comprehension',
      accumulator: '@__sortBy_input__',
      initial: { kind: 'select', field: 'y' },
      result: { kind: 'call', function: '@sortByAssociatedKeys', args: [{ kind: 'comprehension', variable: 'e' }] },
    });
  });

  it.each([
    { text: '{}.sortBy(e, e)', reason: 'a map cannot be sorted' },
    { text: 'x.sortBy(1, e)', reason: 'the variable must be a name' },
  ])('refuses $text: $reason', ({ text }) => expect(expand(text).issues).toHaveLength(1));
});

describe('other functions', () => {
  it.each([
    { of: [1, 2, 2, 3, 3], is: [1, 2, 3], reason: 'ints' },
    { of: ['b', 'b', 'c', 'b'], is: ['b', 'c'], reason: 'strings' },
    { of: [1, new Double(1), '1'], is: [1, '1'], reason: 'equal across number types' },
    { of: [[1], [1]], is: [[1]], reason: 'lists' },
  ])('distinct of $reason', ({ of, is }) => expect(call('list_distinct', of as Value[])).toEqual(is));

  it.each([
    { count: 3, is: [0, 1, 2], reason: 'three' },
    { count: -3, is: [], reason: 'a negative number is none' },
  ])('range of $reason', ({ count, is }) => expect(call('lists_range', count)).toEqual(is));

  it('rejects a range that would not fit into memory', () => {
    expect(call('lists_range', 2n ** 62n)).toMatchObject({ code: 'invalid_argument' });
  });

  it('reverses', () => expect(call('list_reverse', [1, 2, 3])).toEqual([3, 2, 1]));
});

describe('costs', () => {
  it.each([
    { id: 'list_slice', args: [[1, 2, 3], 0, 2], cost: 13, reason: 'what comes out, a list and the call' },
    { id: 'lists_range', args: [5], cost: 16, reason: 'what comes out' },
    { id: 'list_distinct', args: [[1, 2, 3]], cost: 29, reason: 'each with each, twice' },
    { id: 'list_distinct', args: [['a', 'b', 'c']], cost: 29, reason: 'and a tenth more for strings, rounded down' },
    { id: 'list_string_sort', args: [['a', 'b', 'c', 'd']], cost: 44, reason: '16 × 2.1 rounded down' },
    { id: 'list_flatten_int', args: [[1, 2], 3], cost: 17, reason: 'the depth times what goes in' },
    { id: 'list_flatten_int', args: [[1, 2], -1], cost: 9, reason: 'a negative depth wraps round in Go' },
    { id: 'list_int_sort', args: [[]], cost: 11, reason: 'nothing' },
  ])('$id costs $cost: $reason', ({ id, args, cost }) => {
    expect(costOf([listsExtension], id, ...(args as Value[]))).toBe(cost);
  });

  it.each([
    {
      id: 'list_slice',
      target: node({ min: 0, max: 9 }),
      args: [node({ min: 1, max: 1 }, { literal: 2 }), node({ min: 1, max: 1 }, { literal: 5 })],
      cost: { min: 14, max: 14 },
      reason: 'literal bounds',
    },
    {
      id: 'list_reverse',
      target: node({ min: 1, max: 9 }),
      args: [],
      cost: { min: 12, max: 20 },
      reason: 'the size of the list',
    },
    {
      id: 'list_distinct',
      target: node({ min: 0, max: 3 }),
      args: [],
      cost: { min: 11, max: 29 },
      reason: 'each with each',
    },
    {
      id: 'list_string_sort',
      target: node({ min: 0, max: 3 }, { type: list(STRING) }),
      args: [],
      cost: { min: 11, max: 30 },
      reason: 'strings are dearer',
    },
  ])('estimates $id from $reason', ({ id, target, args, cost }) => {
    expect(overloadOf([listsExtension], id).estimate?.(target, args)?.cost).toEqual(cost);
  });
});

it('an extreme depth costs more than any budget', () => {
  const overload = listsExtension.functions
    ?.find(({ name }) => name === 'flatten')
    ?.overloads.find(({ id }) => id === 'list_flatten_int');
  expect(overload?.soleCost?.([[[], [1]], -(2n ** 63n)], null)).toBe(2 ** 63);
});
