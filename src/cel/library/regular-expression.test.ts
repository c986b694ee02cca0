import { expect, it } from 'vitest';
import { CelError } from '../values.ts';
import { matchSpans, regularExpression } from './regular-expression.ts';

it('compiles a pattern once, even an invalid one', () => {
  expect(regularExpression('a+b')).toBe(regularExpression('a+b'));
  expect(regularExpression('(a')).toBeInstanceOf(CelError);
  expect(regularExpression('(a')).toBe(regularExpression('(a'));
});

it('evicts the oldest pattern, and never caches a very long one', () => {
  const first = regularExpression('the first');
  for (let index = 0; index < 300; index++) regularExpression(`pattern ${index}`);
  expect(regularExpression('the first')).not.toBe(first);
  const long = 'a'.repeat(5000);
  expect(regularExpression(long)).not.toBe(regularExpression(long));
});

it('returns the positions of groups, and which did not match', () => {
  const expression = regularExpression('(a)|(b)');
  if (expression instanceof CelError) throw new Error(expression.message);
  expect(matchSpans(expression, 'xb', -1)).toEqual([
    [
      [1, 2],
      [-1, -1],
      [1, 2],
    ],
  ]);
  expect(matchSpans(expression, 'abab', 2)).toHaveLength(2);
  expect(matchSpans(expression, 'abab', 0)).toEqual([]);
});
