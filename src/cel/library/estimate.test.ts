import { describe, expect, it } from 'vitest';
import { UNBOUNDED } from '../declarations.ts';
import { add, fixed, literalCount, multiply, range, scale, subtractUnsigned } from './estimate.ts';
import { node } from './support/overloads.ts';

describe('ranges saturate at UNBOUNDED', () => {
  it.each([
    { result: add(range(1, UNBOUNDED), fixed(5)), is: range(6, UNBOUNDED), reason: 'a sum' },
    { result: multiply(range(2, 2 ** 40), range(3, 2 ** 40)), is: range(6, UNBOUNDED), reason: 'a product' },
    {
      result: scale(range(11, UNBOUNDED), 0.1),
      is: range(2, Math.ceil(UNBOUNDED * 0.1)),
      reason: 'a tenth is a number again, as in Go',
    },
    { result: scale(fixed(UNBOUNDED), 2), is: fixed(UNBOUNDED), reason: 'twice as much' },
  ])('$reason', ({ result, is }) => expect(result).toEqual(is));
});

it.each([
  { literal: 3, count: 3, reason: 'a literal' },
  { literal: -3, count: 0, reason: 'a negative one is none' },
  { literal: -(2n ** 60n), count: 0, reason: 'a negative large one too' },
  { literal: 2n ** 60n, count: 2 ** 60, reason: 'a large one' },
  { literal: 'x', count: 7, reason: 'another type' },
])('literalCount of $reason', ({ literal, count }) => {
  expect(literalCount(node(fixed(1), { literal }), 7)).toBe(count);
});

it('returns the fallback for a node that is not a literal', () => expect(literalCount(undefined, 7)).toBe(7));

it('wraps around below zero', () => {
  expect(subtractUnsigned(5, 2)).toBe(3);
  expect(subtractUnsigned(2, 5)).toBe(UNBOUNDED - 3);
});
