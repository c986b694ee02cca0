import { expect, it } from 'vitest';
import { Double, Uint, type Value } from '../values.ts';
import { sets } from './sets.ts';
import { caller, costOf, node, overloadOf } from './support/overloads.ts';

const call = caller(sets);

it.each([
  { left: [], right: [], contains: true, equivalent: true, intersects: false, reason: 'nothing and nothing' },
  { left: [], right: [1], contains: false, equivalent: false, intersects: false, reason: 'nothing and something' },
  { left: [1, 2, 3], right: [2], contains: true, equivalent: false, intersects: true, reason: 'a part' },
  { left: [1], right: [1, 1], contains: true, equivalent: true, intersects: true, reason: 'how often does not count' },
  {
    left: [1, new Double(2), new Uint(3)],
    right: [new Double(1), new Uint(2), 3],
    contains: true,
    equivalent: true,
    intersects: true,
    reason: 'numbers of all types',
  },
  {
    left: [[1], [2, 3]],
    right: [
      [1, 2],
      [2, new Double(3)],
    ],
    contains: false,
    equivalent: false,
    intersects: true,
    reason: 'lists in lists',
  },
  { left: [1], right: ['1'], contains: false, equivalent: false, intersects: false, reason: 'two types' },
])('$reason', ({ left, right, contains, equivalent, intersects }) => {
  expect(call('list_sets_contains_list', left as Value[], right as Value[])).toBe(contains);
  expect(call('list_sets_equivalent_list', left as Value[], right as Value[])).toBe(equivalent);
  expect(call('list_sets_intersects_list', left as Value[], right as Value[])).toBe(intersects);
});

it('charges the product of the sizes, twice for equivalence', () => {
  expect(costOf([sets], 'list_sets_contains_list', [1, 2, 3], [1, 2])).toBe(7);
  expect(costOf([sets], 'list_sets_equivalent_list', [1, 2, 3], [1, 2])).toBe(13);
  const estimate = overloadOf([sets], 'list_sets_equivalent_list').estimate;
  expect(estimate?.(undefined, [node({ min: 1, max: 3 }), node({ min: 0, max: 2 })])?.cost).toEqual({
    min: 1,
    max: 13,
  });
});
