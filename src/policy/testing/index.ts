/**
 * Runs the tests embedded in policies.
 *
 * Input: the model of a policy with its tests. Output: which tests passed, the differences of failed ones, and the
 * coverage. The engine makes the decisions, so a test result is valid for admission.
 */
export { type Coverage, percent, sum as sumCoverage, type Uncovered } from './coverage.ts';
export { mismatch } from './mismatch.ts';
export type { PolicyTest } from './request.ts';
export {
  policyTestSteps,
  type RuleCoverage,
  runPolicyTests,
  type TestReport,
  type TestResult,
  type TestRunOptions,
} from './run.ts';
