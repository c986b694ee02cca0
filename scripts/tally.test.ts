import { expect, test } from 'vitest';
import { failedBesides, formatTally, type ReportedModule, tally } from './tally.ts';

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
  expect(formatTally(tally(modules, unhandled ?? [], ci)).at(-1)).toBe(last);
});

test('a skipped test is printed by name', () => {
  expect(formatTally(tally([module(['skipped'])], [], false))).toEqual([
    'skipped: a.test.ts > test 0 (skipped)',
    '0 passed, 0 failed',
  ]);
});

test('a failure that no test stands for is counted, and said before the count', () => {
  expect(formatTally(tally([module(['passed'])], [], false, ['there is no Java']))).toEqual([
    'failed: there is no Java',
    '1 passed, 1 failed',
  ]);
});

test.each([
  { reason: 'all is well', states: ['passed'], exitCode: undefined, coverage: true, besides: [] },
  {
    reason: 'the coverage gate',
    states: ['passed'],
    exitCode: 1,
    coverage: true,
    besides: [expect.stringMatching(/^less is covered/)],
  },
  { reason: 'something else', states: ['passed'], exitCode: 1, coverage: false, besides: ['exit code 1'] },
  { reason: 'no test', states: [], exitCode: 1, coverage: true, besides: ['no test was run'] },
  { reason: 'only skips', states: ['skipped'], exitCode: 0, coverage: false, besides: ['every test was skipped'] },
  { reason: 'a test that failed says it itself', states: ['failed'], exitCode: 1, coverage: true, besides: [] },
])('what the exit code says beside the tests: $reason', ({ states, exitCode, coverage, besides }) => {
  expect(failedBesides(tally([module(states)], [], false), { exitCode, coverage })).toEqual(besides);
});
