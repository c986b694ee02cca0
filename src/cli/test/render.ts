/** For people: a line for each policy, what failed below it, and what it comes to. */
import { percent } from '../../policy/internal.ts';
import { plainValues } from '../../runtime/internal.ts';
import { describePlace, errorsOf, failedTests, reachesTooLittle, type TestedPolicy, uncoveredRules } from './tested.ts';

interface TextOptions {
  readonly coverage: boolean;
  readonly minCoverage?: number | undefined;
}

export function asText(tested: readonly TestedPolicy[], options: TextOptions): string {
  const policies = plainValues(tested, ['message', 'failures']);
  const lines = policies.flatMap((policy) => [...policyLines(policy, options), ...coverageLines(policy, options)]);
  return `${[...lines, '', ...summary(policies, options)].join('\n')}\n`;
}

function policyLines(policy: TestedPolicy, options: TextOptions): readonly string[] {
  const failed = failedTests(policy);
  const { tests, issues } = policy;
  const counts = tests.length === 0 ? 'no tests' : `${tests.length - failed.length} of ${tests.length} tests passed`;
  const wrong = failed.length > 0 || errorsOf(policy).length > 0 || reachesTooLittle(policy, options.minCoverage);
  const mark = wrong ? 'FAIL' : tests.length === 0 ? '  ? ' : ' ok ';
  return [
    `${mark} ${policy.policy}: ${counts}${coverageWords(policy, options)}`,
    ...issues.map((issue) => `       ${describePlace(issue)}: ${issue.severity}: ${indented(issue.message)}`),
    ...failed.flatMap((test) => [
      `       ${describePlace(test)}: ${test.name}`,
      ...test.failures.map((failure) => `         ${indented(failure)}`),
    ]),
    ...tests.flatMap((test) => test.notes.map((note) => `       ${describePlace(test)}: ${test.name}: note: ${note}`)),
  ];
}

function coverageWords({ coverage }: TestedPolicy, { coverage: wanted, minCoverage }: TextOptions): string {
  if (minCoverage !== undefined && coverage.percent < minCoverage) {
    return `, coverage ${coverage.percent} % where ${minCoverage} % is wanted`;
  }
  return wanted ? `, coverage ${coverage.percent} %` : '';
}

function coverageLines(policy: TestedPolicy, { coverage: wanted, minCoverage }: TextOptions): readonly string[] {
  if (!wanted && !reachesTooLittle(policy, minCoverage)) return [];
  return [
    ...uncoveredRules(policy).map(
      (rule) => `       ${describePlace(rule)}: rule ${rule.rule} was never seen to ${unseen(rule)}`,
    ),
    ...policy.coverage.missing.map((part) => `       ${describePlace(part)}: ${part.text} was never ${part.never}`),
  ];
}

const unseen = ({ held, violated }: { held: boolean; violated: boolean }): string =>
  [...(held ? [] : ['hold']), ...(violated ? [] : ['fail'])].join(' or ');

function summary(policies: readonly TestedPolicy[], options: TextOptions): readonly string[] {
  const tests = policies.flatMap(({ tests: each }) => each);
  const failed = tests.filter(({ passed }) => !passed).length;
  const line = `${count(policies.length, 'policy', 'policies')}, ${count(tests.length, 'test', 'tests')}: ${tests.length - failed} passed, ${failed} failed`;
  if (!options.coverage && options.minCoverage === undefined) return [line];
  const rules = policies.flatMap(({ rules: each }) => each);
  const seen = rules.length - policies.flatMap(uncoveredRules).length;
  const covered = policies.reduce((sum, { coverage }) => sum + coverage.covered, 0);
  const total = policies.reduce((sum, { coverage }) => sum + coverage.total, 0);
  return [
    line,
    `rules seen both ways: ${seen} of ${rules.length}; parts of expressions reached: ${covered} of ${total} (${percent({ covered, total })} %)`,
  ];
}

const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`;
const indented = (text: string): string => text.replaceAll('\n', '\n         ');
