/** JUnit's XML: a suite for each policy, a case for each of its tests, one for the schemas and one for the coverage. */
import { content, element } from '../common/xml.ts';
import { describePlace, errorsOf, type Placed, reachesTooLittle, type TestedPolicy } from './tested.ts';

export function asJunit(policies: readonly TestedPolicy[], minCoverage: number | undefined): string {
  const suites = policies.map((policy) => suite(policy, minCoverage));
  const sum = (count: 'tests' | 'failures'): number => suites.reduce((all, each) => all + each[count], 0);
  const root = element(
    'testsuites',
    { name: 'kidp test', tests: sum('tests'), failures: sum('failures') },
    suites.map(({ text }) => text),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`;
}

interface Suite {
  readonly text: string;
  readonly tests: number;
  readonly failures: number;
}

function suite(policy: TestedPolicy, minCoverage: number | undefined): Suite {
  const wrong = errorsOf(policy).map(({ message }) => message);
  const { percent } = policy.coverage;
  const tooLittle = reachesTooLittle(policy, minCoverage);
  const cases = [
    ...policy.tests.map((test) => testCase(policy, test.name, test, test.failures, test.notes)),
    testCase(policy, 'fits the schemas of what it matches', policy, wrong),
    ...(minCoverage === undefined
      ? []
      : [testCase(policy, 'coverage', policy, tooLittle ? [`${percent} %, at least ${minCoverage} % is wanted`] : [])]),
  ];
  const failures = cases.filter(({ failed }) => failed).length;
  const attributes = { name: policy.policy, file: policy.file, tests: cases.length, failures };
  return {
    text: element(
      'testsuite',
      attributes,
      cases.map(({ text }) => text),
    ),
    tests: cases.length,
    failures,
  };
}

function testCase(
  { policy }: TestedPolicy,
  name: string,
  place: Placed,
  failures: readonly string[],
  notes: readonly string[] = [],
): { readonly text: string; readonly failed: boolean } {
  const body =
    failures.length > 0
      ? [
          element('failure', { message: failures[0] ?? '' }, [
            content(`${describePlace(place)}: ${failures.join('\n')}`),
          ]),
        ]
      : notes.map((note) => element('system-out', {}, [content(note)]));
  const attributes = { name, classname: policy, file: place.file, line: place.line };
  return { text: element('testcase', attributes, body), failed: failures.length > 0 };
}
