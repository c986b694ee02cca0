/** Random expressions and objects: our engine answers as Kubernetes does, at the cost that Kubernetes counts. */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { kubernetesFunctions, startOracle } from '../support/cel-oracle.ts';
import { compare } from './support/differential.ts';
import { generator } from './support/generate.ts';

const oracle = await startOracle();
afterAll(() => oracle.stop());

const { arbitrary, subjects } = generator(await kubernetesFunctions());
const comparison = await compare(oracle, fc.sample(arbitrary, { seed: 20_260, numRuns: 5_000 }));

test('most cases yield a value, and every function and macro is met', () => {
  expect(comparison.values / comparison.cases).toBeGreaterThanOrEqual(0.6);
  expect(comparison.panics).toBeLessThan(10);
  const rare = subjects.filter((subject) => (comparison.met.get(subject) ?? 0) < 50);
  expect(rare).toEqual([]);
});

test('the same value, or an error where Kubernetes has one', () => {
  expect(comparison.wrong).toEqual([]);
});

test('an expression that Kubernetes refuses is refused, and no other', () => {
  expect(comparison.early).toEqual([]);
});

test('the same cost, or hardly more', () => {
  const { compared, near, wrong } = comparison.costs;
  expect(wrong).toEqual([]);
  expect(1 - near.length / compared).toBeGreaterThanOrEqual(0.99);
});
