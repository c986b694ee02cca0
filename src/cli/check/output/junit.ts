/** JUnit's XML, for the test page of a CI: a suite a file, a case for each rule and object. */

import { resultText } from '../../../policy/index.ts';
import { content, element } from '../../common/xml.ts';
import { describeProblem } from '../../documents/index.ts';
import { type CheckResult, describeResource, fails } from '../result.ts';
import type { Report } from './format.ts';
import { isUnmatched } from './text.ts';

export function asJunit(report: Report): string {
  const suites = [...Map.groupBy(report.results, ({ resource }) => resource.file)].map(([file, results]) =>
    suite(
      file,
      results.map((result) => testCase(result, report)),
    ),
  );
  const broken = [...Map.groupBy(report.problems, ({ file }) => file)].map(([file, problems]) =>
    suite(
      file,
      problems.map((problem) => ({
        text: element('testcase', { name: `bad input: ${problem.code}`, classname: file }, [
          element('error', { type: problem.code, message: problem.message }, [content(describeProblem(problem))]),
        ]),
        outcome: 'error',
      })),
    ),
  );
  const all = [...broken, ...suites];
  const total = (outcome: Outcome) =>
    all.flatMap(({ cases }) => cases).filter((each) => each.outcome === outcome).length;
  const attributes = {
    name: 'kidp check',
    tests: all.flatMap(({ cases }) => cases).length,
    failures: total('failure'),
    errors: total('error'),
    skipped: total('skipped'),
  };
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element(
    'testsuites',
    attributes,
    all.map(({ text }) => text),
  )}\n`;
}

type Outcome = 'passed' | 'failure' | 'error' | 'skipped';

interface Case {
  readonly text: string;
  readonly outcome: Outcome;
}

function suite(name: string, cases: readonly Case[]): { text: string; cases: readonly Case[] } {
  const count = (outcome: Outcome) => cases.filter((each) => each.outcome === outcome).length;
  const attributes = {
    name,
    tests: cases.length,
    failures: count('failure'),
    errors: count('error'),
    skipped: count('skipped'),
  };
  return {
    text: element(
      'testsuite',
      attributes,
      cases.map(({ text }) => text),
    ),
    cases,
  };
}

function testCase(result: CheckResult, { failOn, base }: Report): Case {
  const { resource, policy, rule } = result;
  const { file, line, column } = resource;
  const outcome = outcomeOf(result, failOn);
  const name = isUnmatched(result) ? describeResource(resource) : `${policy} (${rule}): ${describeResource(resource)}`;
  const words = resultText(result);
  const placed = `${file}:${line}:${column}: ${describeResource(resource)}: ${words}`;
  const attributes = { name, classname: policy === '' ? 'no policy' : policy, file, line };
  const body = {
    passed: result.result === 'pass' ? [] : [element('system-out', {}, [content(placed)])],
    failure: [element('failure', { type: result.enforcement ?? 'Deny', message: words }, [content(placed)])],
    error: [element('error', { type: 'error', message: words }, [content(placed)])],
    skipped: [element('skipped', { message: result.known === true ? `known since ${base}: ${words}` : words }, [])],
  }[outcome];
  return { text: element('testcase', attributes, body), outcome };
}

function outcomeOf(result: CheckResult, failOn: Report['failOn']): Outcome {
  if (fails(result, failOn)) return result.result === 'error' ? 'error' : 'failure';
  return result.result === 'skip' || result.known === true ? 'skipped' : 'passed';
}
