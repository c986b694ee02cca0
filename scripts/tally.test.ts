import { expect, test } from 'vitest';
import { formatTally, type ReportedModule, tally } from './tally.ts';

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
