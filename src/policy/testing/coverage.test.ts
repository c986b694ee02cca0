import { describe, expect, test } from 'vitest';
import { type Compiled, compile, environment, types } from '../../cel/index.ts';
import { ExpressionCoverage, percent } from './coverage.ts';

const scope = environment('kubernetes-1.36', { variables: { x: types.DYN } });

/** What is missing after an expression has been evaluated with each of these. */
function missing(text: string, values: readonly unknown[], decides = true): readonly string[] {
  const coverage = new ExpressionCoverage('p');
  const compiled = compile(text, scope, { watch: coverage.watch }) as Compiled;
  coverage.expect(compiled.source, compiled.ast, decides);
  for (const x of values) compiled.evaluate({ x: x as never });
  return coverage.coverage().missing.map(({ line, column, text: part, never }) => `${line}:${column} ${part} ${never}`);
}

describe('parts without coverage', () => {
  test.each([
    { reason: 'both ways', text: 'x > 1', values: [1, 2], expected: [] },
    { reason: 'only one way', text: 'x > 1', values: [2], expected: ['1:1 x > 1 false'] },
    { reason: 'not at all', text: 'x > 1', values: [], expected: ['1:1 x > 1 true', '1:1 x > 1 false'] },
    {
      reason: 'the right of || is not asked where the left is true',
      text: 'x == 1 || x == 2',
      values: [1],
      expected: ['1:1 x == 1 false', '1:11 x == 2 true', '1:11 x == 2 false'],
    },
    { reason: 'each side of && both ways', text: 'x > 1 && x < 3', values: [1, 2, 3], expected: [] },
    { reason: 'three sides', text: 'x > 1 && x < 9 && x != 5', values: [1, 2, 9], expected: ['1:19 x != 5 false'] },
    { reason: 'inside a negation', text: '!(x > 1)', values: [2], expected: ['1:3 x > 1 false'] },
    {
      reason: 'a branch that is never taken',
      text: 'x > 5 ? x > 7 : x > 3',
      values: [8, 6],
      expected: ['1:1 x > 5 false', '1:17 x > 3 true', '1:17 x > 3 false'],
    },
    {
      reason: 'a body that never fails',
      text: 'x.all(e, e > 1)',
      values: [[2]],
      expected: ['1:1 x.all(e, e > 1) false', '1:10 e > 1 false'],
    },
    {
      reason: 'a body that is never reached',
      text: 'x.exists(e, e > 1)',
      values: [[]],
      expected: ['1:1 x.exists(e, e > 1) true', '1:13 e > 1 true', '1:13 e > 1 false'],
    },
    {
      reason: 'a filter',
      text: 'x.filter(e, e > 1).size() == 1',
      values: [[2], [3, 4]],
      expected: ['1:13 e > 1 false'],
    },
    {
      reason: 'a loop in a loop',
      text: 'x.all(e, e.all(f, f > 1 || f == 0))',
      values: [[[2]], [[0], [1]]],
      expected: [],
    },
    {
      reason: 'a condition inside a value',
      text: '(x > 1 ? 1 : 2) == 1',
      values: [2],
      expected: ['1:1 (x > 1 ? 1 : 2) == 1 false', '1:2 x > 1 false'],
    },
    { reason: 'several lines', text: 'x > 1 &&\n  x < 3', values: [2, 3], expected: ['1:1 x > 1 false'] },
    { reason: 'what is the same in every test', text: 'x > 1 || true', values: [1, 2], expected: [] },
  ])('$text: $reason', ({ text, values, expected }) => {
    expect(missing(text, values)).toEqual(expected);
  });
});

test('a part that is not boolean must be evaluated', () => {
  expect(missing("'a' + x", [], false)).toEqual(["1:1 'a' + x computed"]);
  expect(missing("'a' + x", ['b'], false)).toEqual([]);
  expect(missing("x.a ? 'a' : 'b'", [{ a: true }], false)).toEqual(['1:1 x.a false']);
});

test('an error is neither true nor false', () => {
  expect(missing('x.a', [{}])).toEqual(['1:1 x.a true', '1:1 x.a false']);
});

test('100 percent means complete coverage', () => {
  expect(percent({ covered: 199, total: 200 })).toBe(99);
  expect(percent({ covered: 0, total: 0 })).toBe(100);
});
