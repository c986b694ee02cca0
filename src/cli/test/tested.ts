/** What came of the tests of a policy, with the places in its file. */
import type { PolicyIssue, RuleCoverage, TestReport, TestResult } from '../../policy/index.ts';
import type { Uncovered } from '../../policy/internal.ts';
import type { LocatedObject, Place } from '../documents/index.ts';

export interface Placed {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface TestedPolicy extends Placed {
  readonly policy: string;
  readonly tests: readonly (TestResult & Placed)[];
  /** Where it does not fit the schemas of what it matches. */
  readonly issues: readonly (Omit<PolicyIssue, 'line' | 'column'> & Placed)[];
  readonly rules: readonly (RuleCoverage & Placed)[];
  readonly coverage: {
    readonly percent: number;
    readonly covered: number;
    readonly total: number;
    readonly missing: readonly (Omit<Uncovered, 'line' | 'column'> & Placed)[];
  };
}

export function placed(located: LocatedObject, report: TestReport, issues: readonly PolicyIssue[]): TestedPolicy {
  const { file } = located;
  const at = (field: string): Placed => ({ file, ...located.place(field) });
  const inText = <T extends { readonly path: string; readonly line?: number; readonly column?: number }>(each: T) => {
    const place: Place = located.placeInText(each.path, each.line, each.column);
    return { ...each, file, ...place };
  };
  const { percent, covered, total, missing } = report.coverage;
  return {
    policy: report.policy,
    file,
    ...located.place('metadata.name'),
    tests: report.results.map((result) => ({ ...result, ...at(result.path) })),
    issues: issues.map(inText),
    rules: report.rules.map((rule) => ({ ...rule, ...at(rule.path) })),
    coverage: { percent, covered, total, missing: missing.map(inText) },
  };
}

export const failedTests = ({ tests }: TestedPolicy) => tests.filter(({ passed }) => !passed);

export const errorsOf = ({ issues }: TestedPolicy) => issues.filter(({ severity }) => severity === 'error');

/** A rule is covered when a test has seen it hold and another has seen it not hold. */
export const uncoveredRules = ({ rules }: TestedPolicy) => rules.filter(({ held, violated }) => !held || !violated);

/** Whether the tests of a policy reach too little of it. One without tests reaches nothing. */
export const reachesTooLittle = ({ coverage }: TestedPolicy, least: number | undefined): boolean =>
  least !== undefined && coverage.percent < least;

export const describePlace = ({ file, line, column }: Placed): string => `${file}:${line}:${column}`;
