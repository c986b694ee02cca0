import { expect, test } from 'vitest';
import { failuresWithoutTest, formatSummary, type ReportedModule, summarize } from './test-summary.ts';

const module = (states: string[], errors: unknown[] = []): ReportedModule => ({
  moduleId: 'a.test.ts',
  children: { allTests: () => states.map((state, i) => ({ fullName: `test ${i}`, result: () => ({ state }) })) },
  errors: () => errors,
});

const rows: { reason: string; modules: ReportedModule[]; unhandled?: unknown[]; ci: boolean; last: string }[] = [
  {
    reason: 'passed and failed are counted apart',
    modules: [module(['passed', 'failed'])],
    ci: false,
    last: '1 passed, 1 failed',
  },
  {
    reason: 'a skip is only named outside CI',
    modules: [module(['passed', 'skipped'])],
    ci: false,
    last: '1 passed, 0 failed',
  },
  {
    reason: 'a skip is a failure in CI',
    modules: [module(['passed', 'skipped'])],
    ci: true,
    last: '1 passed, 1 failed',
  },
  { reason: 'a test that never ran is a skip', modules: [module(['pending'])], ci: true, last: '0 passed, 1 failed' },
  {
    reason: 'a file that does not load is a failure',
    modules: [module([], [new Error('x')])],
    ci: false,
    last: '0 passed, 1 failed',
  },
  {
    reason: 'an unhandled rejection is a failure',
    modules: [module(['passed'])],
    unhandled: [new Error('x')],
    ci: false,
    last: '1 passed, 1 failed',
  },
];

test.each(rows)('$reason', ({ modules, unhandled, ci, last }) => {
  expect(formatSummary(summarize(modules, unhandled ?? [], ci)).at(-1)).toBe(last);
});

test('a skipped test is printed by name', () => {
  expect(formatSummary(summarize([module(['skipped'])], [], false))).toEqual([
    'skipped: a.test.ts > test 0 (skipped)',
    '0 passed, 0 failed',
  ]);
});

test('a failure that belongs to no test is counted, and printed before the counts', () => {
  expect(formatSummary(summarize([module(['passed'])], [], false, ['there is no Java']))).toEqual([
    'failed: there is no Java',
    '1 passed, 1 failed',
  ]);
});

test.each([
  { reason: 'nothing failed', states: ['passed'], exitCode: undefined, coverage: true, otherFailures: [] },
  {
    reason: 'the coverage gate',
    states: ['passed'],
    exitCode: 1,
    coverage: true,
    otherFailures: [expect.stringMatching(/^coverage is below the threshold/)],
  },
  { reason: 'something else', states: ['passed'], exitCode: 1, coverage: false, otherFailures: ['exit code 1'] },
  { reason: 'no test', states: [], exitCode: 1, coverage: true, otherFailures: ['no test was run'] },
  {
    reason: 'only skips',
    states: ['skipped'],
    exitCode: 0,
    coverage: false,
    otherFailures: ['every test was skipped'],
  },
  {
    reason: 'a failed test needs no further explanation',
    states: ['failed'],
    exitCode: 1,
    coverage: true,
    otherFailures: [],
  },
])('failures without a test: $reason', ({ states, exitCode, coverage, otherFailures }) => {
  expect(failuresWithoutTest(summarize([module(states)], [], false), { exitCode, coverage })).toEqual(otherFailures);
});
