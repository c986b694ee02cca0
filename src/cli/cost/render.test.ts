import { describe, expect, test } from 'vitest';
import type { CostRow } from '../../reconcile/index.ts';
import { asCsv, asTable, csvCell } from './render.ts';

const row: CostRow = {
  month: '2026-01',
  team: 'team-backend',
  application: 'team-backend/users',
  kind: 'Database',
  namespace: 'team-backend',
  name: 'db',
  state: 'live',
  currency: 'EUR',
  amount: '12.50',
  costTags: { project: 'x', 'cost-center': '4711' },
};

test('as CSV: a row each, by RFC 4180', () => {
  const rows = [row, { ...row, name: 'old', application: '', state: 'deleted' as const, amount: '-0.5', costTags: {} }];
  expect(asCsv({ month: '2026-01', rows, totals: [] })).toBe(
    [
      'month,team,application,kind,namespace,name,state,currency,amount,tags',
      '2026-01,team-backend,team-backend/users,Database,team-backend,db,live,EUR,12.50,"cost-center=4711;project=x"',
      '2026-01,team-backend,,Database,team-backend,old,deleted,EUR,-0.5,',
      '',
    ].join('\r\n'),
  );
});

describe('a cell', () => {
  test.each([
    { reason: 'a formula is text', text: '=HYPERLINK("http://evil")', cell: `"'=HYPERLINK(""http://evil"")"` },
    { reason: 'so is what begins with a plus', text: '+1', cell: "'+1" },
    { reason: 'so is what begins with a minus', text: '-1+2', cell: "'-1+2" },
    { reason: 'so is what begins with an at', text: '@SUM(A1)', cell: "'@SUM(A1)" },
    { reason: 'so is what begins with a tab', text: '\t=1', cell: "'=1" },
    { reason: 'a line break is a space', text: 'a\nb', cell: 'a b' },
    { reason: 'quotes are doubled', text: 'a"b', cell: '"a""b"' },
    { reason: 'what is plain stays plain', text: 'team-a', cell: 'team-a' },
  ])('$reason', ({ text, cell }) => {
    expect(csvCell(text)).toBe(cell);
  });

  test('a negative amount stays a number', () => {
    expect(csvCell('-5.00', true)).toBe('-5.00');
  });
});

test('as a table, with the sum of each team and currency', () => {
  const totals = [{ team: 'team-backend', currency: 'EUR', amount: '12.50' }];
  expect(asTable({ month: '2026-01', rows: [row], totals })).toBe(`costs of 2026-01

TEAM          APPLICATION         KIND      NAME             STATE  AMOUNT  CURRENCY
team-backend  team-backend/users  Database  team-backend/db  live    12.50  EUR

team-backend  total                                                  12.50  EUR
`);
  expect(asTable({ month: '2026-02', rows: [], totals: [] })).toBe('nothing was reported for 2026-02\n');
});
