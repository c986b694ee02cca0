/** Random expressions and objects: the engine returns the same results and costs as Kubernetes. */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { kubernetesFunctions, startOracle } from '../support/cel-oracle.ts';
import { compare } from './support/differential.ts';
import { generator } from './support/generate.ts';

const oracle = await startOracle();
afterAll(() => oracle.stop());

const { arbitrary, subjects } = generator(await kubernetesFunctions());
const comparison = await compare(oracle, fc.sample(arbitrary, { seed: 20_260, numRuns: 5_000 }));

test('most cases yield a value, and every function and macro occurs', () => {
  expect(comparison.values / comparison.cases).toBeGreaterThanOrEqual(0.6);
  expect(comparison.panics).toBeLessThan(10);
  const rare = subjects.filter((subject) => (comparison.met.get(subject) ?? 0) < 50);
  expect(rare).toEqual([]);
});

test('returns the same value or error as Kubernetes', () => {
  expect(comparison.wrong).toEqual([]);
});

test('rejects the same expressions as Kubernetes', () => {
  expect(comparison.early).toEqual([]);
});

test('has the same cost, or slightly more', () => {
  const { compared, near, wrong } = comparison.costs;
  expect(wrong).toEqual([]);
  expect(1 - near.length / compared).toBeGreaterThanOrEqual(0.99);
});
