/** Runs the tests of a policy with the same `decide` as every request, and measures their coverage. */
import type { PolicyDecision, RuleResult } from '../decision.ts';
import {
  type CompiledPolicy,
  compileSteps,
  decide,
  explainPolicy,
  type PolicySet,
  policySet,
} from '../engine/index.ts';
import type { ExpressionModel, PolicyIssue, PolicyModel } from '../model.ts';
import { mutate } from '../mutation/index.ts';
import type { AdmissionRequest } from '../request.ts';
import { resultText } from '../result-text.ts';
import { completed, type Steps } from '../steps.ts';
import { type Actual, differences } from './compare.ts';
import { type Coverage, ExpressionCoverage, percent, sum } from './coverage.ts';
import { mismatch } from './mismatch.ts';
import { type Expectation, type PolicyTest, requestOf, worldOf } from './request.ts';

export interface TestResult {
  readonly name: string;
  /** The path of the test, such as `spec.tests[0]`. */
  readonly path: string;
  readonly passed: boolean;
  /** One line per difference. */
  readonly failures: readonly string[];
  /** Hints about a test that passed. */
  readonly notes: readonly string[];
}

export interface RuleCoverage {
  readonly rule: string;
  readonly path: string;
  /** Whether a test has seen the rule pass, and whether one has seen it violated. */
  readonly held: boolean;
  readonly violated: boolean;
}

export interface TestReport {
  readonly policy: string;
  /** Issues that prevent the tests from running. */
  readonly issues: readonly PolicyIssue[];
  readonly results: readonly TestResult[];
  readonly rules: readonly RuleCoverage[];
  /** The coverage of all expressions. */
  readonly coverage: Coverage & { readonly percent: number };
}

export interface TestRunOptions {
  /** False disables coverage, which makes the tests faster. */
  readonly coverage?: boolean;
  /** In milliseconds since 1970. A test that has not started by then fails. */
  readonly deadline?: number;
  /** The time limit of one test. A test that takes longer is ended and fails. */
  readonly testMilliseconds?: number;
}

/**
 * `runPolicyTests` runs the tests embedded in a policy and measures their coverage.
 *
 *     const { results, coverage } = runPolicyTests(model);
 *     for (const { name, passed, failures } of results) console.log(passed ? 'ok' : 'FAIL', name, ...failures);
 *     console.log(`${coverage.percent} % covered`);
 */
export function runPolicyTests(model: PolicyModel, options: TestRunOptions = {}): TestReport {
  return completed(policyTestSteps(model, options));
}

/** `policyTestSteps` is `runPolicyTests` with one step for each expression and test. */
export function* policyTestSteps(model: PolicyModel, options: TestRunOptions = {}): Steps<TestReport> {
  const watched = new Map<string, ExpressionCoverage>();
  const watch = ({ path }: ExpressionModel): ExpressionCoverage['watch'] => {
    const coverage = new ExpressionCoverage(path);
    watched.set(path, coverage);
    return coverage.watch;
  };
  const { policy, issues } = yield* compileSteps(model, options.coverage === false ? {} : { watch });
  if (policy === undefined) return { policy: model.name, issues, results: [], rules: [], coverage: NOTHING };
  expectAll(policy, watched);
  // Tests use the default platform namespace; a policy covers it with `includeSystemNamespaces`.
  const set = policySet({ policies: [policy] });
  const seen = new Map<string, { held: boolean; violated: boolean }>();
  const { deadline = Number.POSITIVE_INFINITY, testMilliseconds: limit } = options;
  const results: TestResult[] = [];
  for (const [index, each] of model.tests.entries()) {
    const test = each as unknown as PolicyTest;
    results.push(Date.now() < deadline ? run({ test, index, model, set, seen }, limit) : notRun(test, index));
    yield;
  }
  const rules = model.rules.map(({ name, expression }) => ({
    rule: name,
    path: expression.path.replace(/\.expression$/, ''),
    ...(seen.get(name) ?? { held: false, violated: false }),
  }));
  const coverage = sum([...watched.values()].map((each) => each.coverage()));
  return { policy: model.name, issues, results, rules, coverage: { ...coverage, percent: percent(coverage) } };
}

const NOTHING = { covered: 0, total: 0, missing: [], percent: 100 };

function expectAll(policy: CompiledPolicy, watched: ReadonlyMap<string, ExpressionCoverage>): void {
  const { model } = policy;
  const add = (path: string, unit: CompiledPolicy['rules'][number]['unit'] | undefined, decides: boolean): void => {
    if (unit !== undefined) watched.get(path)?.expect(unit.compiled.source, unit.compiled.ast, decides);
  };
  model.matchConditions.forEach(({ path }, index) => void add(path, policy.conditions[index]?.unit, true));
  for (const { name, path } of model.variables) add(path, policy.variables.get(name), false);
  for (const { model: rule, unit, message, annotations } of policy.rules) {
    add(rule.expression.path, unit, true);
    if (rule.messageExpression !== undefined) add(rule.messageExpression.path, message, false);
    rule.auditAnnotations.forEach(({ value }, index) => void add(value.path, annotations[index]?.unit, false));
  }
  for (const { model: mutation, unit } of policy.mutations) add(mutation.expression.path, unit, false);
}

interface TestRun {
  readonly test: PolicyTest;
  readonly index: number;
  readonly model: PolicyModel;
  readonly set: PolicySet;
  readonly seen: Map<string, { held: boolean; violated: boolean }>;
}

function run({ test, index, model, set, seen }: TestRun, milliseconds: number | undefined): TestResult {
  const path = `spec.tests[${index}]`;
  const deadline = Date.now() + (milliseconds ?? Number.POSITIVE_INFINITY);
  const limits = { deadline };
  const request = requestOf(test);
  const world = worldOf(test, model);
  const mutation = mutate(set, request, world, limits);
  const mutated: AdmissionRequest = mutation.changed ? { ...request, object: mutation.object } : request;
  const decision = decide(set, mutated, world, { passes: true, ...limits });
  note(decision, seen);
  const results = [...mutation.results, ...decision.results];
  // What was not evaluated by the deadline is an error, which a test may even expect.
  const isCut = Date.now() >= deadline && results.some(({ result }) => result === 'error');
  const actual: Actual = {
    allowed: !results.some(({ denies }) => denies),
    denials: results.filter(({ denies }) => denies).map(resultText),
    warnings: results.filter(({ result }) => result === 'warn').map(resultText),
    audited: results
      .filter(({ result, denies, audited }) => result === 'audit' || (result === 'error' && audited && !denies))
      .map(resultText),
    object: mutation.changed ? mutation.object : request.object,
  };
  // The decision does not show whether a policy matched that only mutates and changed nothing.
  const [explanation] = decision.matched.length + results.length > 0 ? [] : explainPolicy(set, mutated, world, limits);
  const notMatched = explanation?.matched === 'no' ? `the policy does not match: ${mismatch(explanation)}` : undefined;
  const isEmpty = test.object === undefined && test.oldObject === undefined;
  const failures = [
    ...(isCut ? [tooSlow(milliseconds)] : []),
    ...(isEmpty ? ['no object: set object, or oldObject for a DELETE'] : []),
    ...notJudged(decision.results),
    ...(notMatched !== undefined && wantsMatch(test.expect) ? [notMatched] : []),
    ...differences(test.expect, actual),
  ];
  const notes = [
    ...(notMatched === undefined || failures.length > 0 ? [] : [notMatched]),
    ...notAuthorized(decision.results),
    ...(Object.keys(test.expect).length === 0 ? ['expects nothing: set a field of expect'] : []),
  ];
  return { name: test.name, path, passed: failures.length === 0, failures, notes };
}

const tooSlow = (milliseconds = 0): string =>
  `took longer than ${milliseconds} ms, and each matching object would too. Make the expressions of the policy cheaper, or the objects of the test smaller`;

const notRun = ({ name }: PolicyTest, index: number): TestResult => ({
  name,
  path: `spec.tests[${index}]`,
  passed: false,
  failures: ['not run: the deadline passed. Make the expressions of the policy cheaper, or remove tests'],
  notes: [],
});

function note({ results }: PolicyDecision, seen: Map<string, { held: boolean; violated: boolean }>): void {
  for (const { rule, result } of results) {
    const known = seen.get(rule) ?? { held: false, violated: false };
    if (result === 'pass') known.held = true;
    else if (result !== 'skip' && result !== 'error') known.violated = true;
    seen.set(rule, known);
  }
}

/** A rule that could not be evaluated without user info fails the test. */
function notJudged(results: readonly RuleResult[]): readonly string[] {
  return results
    .filter(({ result, skipped }) => result === 'skip' && skipped?.includes('user info') === true)
    .map(({ rule, skipped }) => `rule ${rule} was not evaluated: it ${skipped}; set user in the test`);
}

/** Rules that need an authorizer are only noted, because the test may be for other rules of the policy. */
function notAuthorized(results: readonly RuleResult[]): readonly string[] {
  return results
    .filter(({ result, skipped }) => result === 'skip' && skipped?.includes('authorization checks') === true)
    .map(({ rule, skipped }) => `rule ${rule} was not evaluated: it ${skipped}; set authorizer in the test`);
}

/** A test that expects anything but admission requires that the policy matches its object. */
function wantsMatch({ allowed, message, warnings, audited, object }: Expectation): boolean {
  return (
    allowed === false ||
    (message ?? '') !== '' ||
    (warnings ?? []).length > 0 ||
    (audited ?? []).length > 0 ||
    object !== undefined
  );
}
