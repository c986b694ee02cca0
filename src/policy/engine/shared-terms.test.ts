import { expect, it } from 'vitest';
import { sharedTerms } from './shared-terms.ts';
import { policyFrom } from './support/policies.ts';

const unitsOf = (...expressions: string[]) =>
  expressions.map((expression, index) => {
    const [rule] = policyFrom({ rules: [{ name: 'r', expression }] }, `p${index}`).rules;
    if (rule === undefined) throw new Error('no rule');
    return rule.unit;
  });

it.each<{ reason: string; expressions: string[]; split: (readonly string[] | undefined)[] }>([
  {
    reason: 'a loop in two rules',
    expressions: ['spec.a.all(x, x > 1) && spec.b == 1', 'spec.c == 1 && spec.d == 2 && spec.a.all(x,  x > 1)'],
    split: [
      ['(spec.a.all(x, x > 1))', '(spec.b == 1)'],
      ['(spec.c == 1) && (spec.d == 2)', '(spec.a.all(x, x > 1))'],
    ],
  },
  {
    reason: 'a loop in one',
    expressions: ['spec.a.all(x, x > 1) && spec.b == 1', 'spec.b == 1 && spec.c == 2'],
    split: [undefined, undefined],
  },
  {
    reason: 'a field is not worth it',
    expressions: ['spec.a == 1 && spec.b == 1', 'spec.a == 1 && spec.b == 2'],
    split: [undefined, undefined],
  },
  {
    reason: 'terms of an or',
    expressions: ["spec.a.matches('x') || spec.b == 1", "spec.a.matches('x') && spec.b == 2"],
    split: [
      ['(spec.a.matches("x"))', '(spec.b == 1)'],
      ['(spec.a.matches("x"))', '(spec.b == 2)'],
    ],
  },
])('splits what is shared and nothing else: $reason', ({ expressions, split }) => {
  const units = unitsOf(...expressions);
  const found = sharedTerms(units);
  expect(units.map((unit) => found.get(unit)?.terms.map(({ text }) => text))).toEqual(split);
});

it('shares a term between two rules', () => {
  const units = unitsOf('spec.a.all(x, x > 1) && spec.b == 1', 'spec.a.all(x, x > 1) && spec.b == 2');
  const found = sharedTerms(units);
  expect(found.get(units[0] as never)?.terms[0]).toBe(found.get(units[1] as never)?.terms[0]);
});
