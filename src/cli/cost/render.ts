/** Costs as a table for people and as CSV for programs and spreadsheets. */
import type { CostRow } from '../../reconcile/index.ts';
import { plainLine, plainValues } from '../../runtime/internal.ts';

export interface CostReport {
  readonly month: string;
  /** The namespace of the team, where only one was asked for. */
  readonly team?: string;
  readonly rows: readonly CostRow[];
  /** By team and currency: currencies are never added up. */
  readonly totals: readonly { readonly team: string; readonly currency: string; readonly amount: string }[];
}

const columns = ['month', 'team', 'application', 'kind', 'namespace', 'name', 'state', 'currency', 'amount', 'tags'];

/** RFC 4180, a row for each resource; sums are left to who reads it. */
export function asCsv({ rows }: CostReport): string {
  const lines = rows.map((row) =>
    [...cellsOf(row), tagsOf(row)].map((cell, index) => csvCell(cell, columns[index] === 'amount')),
  );
  return [columns, ...lines].map((line) => `${line.join(',')}\r\n`).join('');
}

/**
 * A spreadsheet takes what begins so for a formula and runs it: an apostrophe before it makes it text. Amounts are known to be numbers,
 * and must stay numbers when they are negative.
 */
export function csvCell(given: string, isNumber = false): string {
  const text = plainLine(given);
  const safe = !isNumber && /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function asTable(report: CostReport): string {
  const { month, rows, totals } = plainValues(report);
  if (rows.length === 0) return `nothing was reported for ${month}\n`;
  const heads = ['TEAM', 'APPLICATION', 'KIND', 'NAME', 'STATE', 'AMOUNT', 'CURRENCY'];
  const body = rows.map(({ team, application, kind, namespace, name, state, amount, currency }) => [
    team,
    application === '' ? '-' : application,
    kind,
    `${namespace}/${name}`,
    state,
    amount,
    currency,
  ]);
  const sums = totals.map(({ team, amount, currency }) => [team, 'total', '', '', '', amount, currency]);
  const widths = heads.map((head, index) =>
    Math.max(head.length, ...[...body, ...sums].map((line) => line[index]?.length ?? 0)),
  );
  const pad = (line: readonly string[]) =>
    line
      .map((cell, index) => (index === 5 ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${[`costs of ${month}`, '', ...[heads, ...body, heads.map(() => ''), ...sums].map(pad)].join('\n')}\n`;
}

const cellsOf = ({ month, team, application, kind, namespace, name, state, currency, amount }: CostRow): string[] => [
  month,
  team,
  application,
  kind,
  namespace,
  name,
  state,
  currency,
  amount,
];

/** `cost-center=4711;project=x`, in the order of their keys. */
const tagsOf = ({ costTags }: CostRow): string =>
  Object.entries(costTags)
    .sort(([one], [other]) => (one < other ? -1 : Number(one > other)))
    .map(([key, value]) => `${key}=${value}`)
    .join(';');
