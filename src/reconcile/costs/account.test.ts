import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MonthlyCost } from '../platform/ownership.ts';
import { joined, withUsage } from './account.ts';

const report = (amount: string, asOf: string, over: object = {}) => ({
  month: '2026-01',
  currency: 'EUR',
  amount,
  asOf,
  broker: 'b',
  ...over,
});
const known = (amount: string, asOf: string, over: object = {}) => ({
  month: '2026-01',
  currency: 'EUR',
  amount,
  asOf,
  reports: [{ broker: 'b', amount, asOf }],
  ...over,
});

test.each([
  { reason: 'the first', before: [], report: report('1', '2026-01-10T00:00:00Z'), after: ['1'] },
  {
    reason: 'a later one replaces it',
    before: [known('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-01-11T00:00:00Z'),
    after: ['2'],
  },
  {
    reason: 'a later one may be less',
    before: [known('2', '2026-01-10T00:00:00Z')],
    report: report('1', '2026-01-11T00:00:00Z'),
    after: ['1'],
  },
  {
    reason: 'an earlier one changes nothing',
    before: [known('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-01-09T00:00:00Z'),
    after: 'stale',
  },
  {
    reason: 'the same again changes nothing',
    before: [known('1', '2026-01-10T00:00:00Z')],
    report: report('1', '2026-01-10T00:00:00.000Z'),
    after: 'duplicate',
  },
  {
    reason: 'another amount with the same time changes nothing',
    before: [known('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-01-10T00:00:00Z'),
    after: 'stale',
  },
  {
    reason: 'another currency is a separate entry',
    before: [known('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-01-10T00:00:00Z', { currency: 'USD' }),
    after: ['1', '2'],
  },
  {
    reason: 'a newer month comes first',
    before: [known('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-02-10T00:00:00Z', { month: '2026-02' }),
    after: ['2', '1'],
  },
  {
    reason: 'another broker adds to it',
    before: [
      known('240', '2026-01-20T00:00:00Z', { reports: [{ broker: 'a', amount: '240', asOf: '2026-01-20T00:00:00Z' }] }),
    ],
    report: report('0.5', '2026-01-20T01:00:00Z'),
    after: ['240.5'],
  },
  {
    reason: 'a late final report of the former broker adds to it',
    before: [known('0.5', '2026-01-20T01:00:00Z')],
    report: report('240', '2026-01-20T00:00:00Z', { broker: 'a' }),
    after: ['240.5'],
  },
  {
    reason: 'an account without brokers belongs to the current reporter',
    before: [known('1', '2026-01-10T00:00:00Z', { reports: undefined })],
    report: report('2', '2026-01-11T00:00:00Z'),
    after: ['2'],
  },
  {
    reason: 'the same, with the final report of the former broker',
    before: [known('240', '2026-01-20T00:00:00Z', { reports: undefined })],
    report: report('240.2', '2026-01-20T00:30:00Z', { broker: 'a' }),
    after: ['240.2'],
  },
  {
    reason: 'it belongs to the current broker if it is newer than the final report of the former one',
    before: [known('0.5', '2026-01-20T01:00:00Z', { reports: undefined })],
    report: report('240', '2026-01-20T00:30:00Z', { broker: 'a' }),
    after: ['240.5'],
  },
])('$reason', ({ before, report: next, after }) => {
  const costs = withUsage(before, next, 'b');
  expect(typeof costs === 'string' ? costs : costs.map(({ amount }) => amount)).toEqual(after);
});

test('in any order and with duplicates, the latest report per broker and month counts', () => {
  const reports = fc.array(
    fc.record({
      month: fc.constantFrom('2026-01', '2026-02'),
      broker: fc.constantFrom('a', 'b', 'c'),
      day: fc.integer({ min: 1, max: 28 }),
    }),
    { minLength: 1, maxLength: 30 },
  );
  const usages = (days: { month: string; broker: string; day: number }[]) =>
    days.map(({ month, broker, day }) =>
      report(String(day), `${month}-${String(day).padStart(2, '0')}T00:00:00Z`, { month, broker }),
    );
  const accountOf = (days: { month: string; broker: string; day: number }[]) =>
    usages(days).reduce((costs: readonly MonthlyCost[], usage) => {
      const next = withUsage(costs, usage, 'c');
      return typeof next === 'string' ? costs : next;
    }, []);
  fc.assert(
    fc.property(reports, fc.nat(30), (days, cut) => {
      const costs = accountOf(days);
      for (const { month, amount } of costs) {
        const latest = ['a', 'b', 'c'].map((broker) =>
          Math.max(0, ...days.filter((each) => each.month === month && each.broker === broker).map(({ day }) => day)),
        );
        expect(amount).toBe(String(latest.reduce((sum, day) => sum + day)));
      }
      // Settling twice with reports in between equals settling once.
      expect(joined(accountOf(days.slice(0, cut)), accountOf(days.slice(cut)), 'c')).toEqual(costs);
      expect(joined(costs, costs, 'c')).toEqual(costs);
    }),
  );
});
