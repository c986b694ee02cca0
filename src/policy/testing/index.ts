/**
 * Policies test themselves.
 *
 * In: the model of a policy with its tests. Out: which passed, what came instead, and what no test has reached. Judging
 * is the engine's: a test that passes here means what it says at admission.
 */
export { type Coverage, percent, sum as sumCoverage, type Uncovered } from './coverage.ts';
export { mismatch } from './mismatch.ts';
export type { PolicyTest } from './request.ts';
export {
  type RuleCoverage,
  runPolicyTests,
  type TestReport,
  type TestResult,
  type TestRunOptions,
} from './run.ts';
