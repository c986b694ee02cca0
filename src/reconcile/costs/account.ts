/**
 * The cost account of one resource per month: the newest report of each broker, and their sum. Duplicate, late and
 * out-of-order reports give the same result.
 */
import type { UsageReport } from '../../broker/index.ts';
import type { BrokerCost, MonthlyCost } from '../platform/ownership.ts';
import { sumOfAmounts } from './amount.ts';
import { keptCosts, newestFirst } from './totals.ts';

/** The fields of a report that enter the account. */
export type Usage = Pick<UsageReport, 'month' | 'currency' | 'amount'> & {
  readonly broker: string;
  readonly asOf?: string;
};

/** `withUsage` returns the updated account, or why it is unchanged. `present` is the current broker of the resource. */
export function withUsage(
  costs: readonly MonthlyCost[],
  usage: Usage,
  present = usage.broker,
): MonthlyCost[] | 'duplicate' | 'stale' {
  const { month, currency, amount, broker } = usage;
  const known = costs.find((cost) => cost.month === month && cost.currency === currency);
  const parts = known === undefined ? [] : partsOf(known, isNewer(usage, known) ? broker : present);
  const before = parts.find((part) => part.broker === broker);
  if (before !== undefined && !isNewer(usage, before)) {
    return timeOf(usage) === timeOf(before) && amount === before.amount ? 'duplicate' : 'stale';
  }
  const others = parts.filter((part) => part !== before);
  const asOf = usage.asOf === undefined ? {} : { asOf: secondsOf(usage.asOf) };
  const cost = costOf(month, currency, [...others, { broker, amount, ...asOf }]);
  return newestFirst([...costs.filter((each) => each !== known), cost]).slice(0, keptCosts);
}

/** `joined` merges two accounts of one resource: the newer report of each broker. */
export function joined(
  costs: readonly MonthlyCost[],
  more: readonly MonthlyCost[],
  present: string,
): readonly MonthlyCost[] {
  return more
    .flatMap((cost) =>
      partsOf(cost, present).map((part): Usage => ({ month: cost.month, currency: cost.currency, ...part })),
    )
    .reduce((account: readonly MonthlyCost[], usage) => {
      const next = withUsage(account, usage, present);
      return typeof next === 'string' ? account : next;
    }, costs);
}

/** Accounts written by old versions name no broker; their amount belongs to `unnamed`. */
const partsOf = ({ reports, amount, asOf }: MonthlyCost, unnamed: string): readonly BrokerCost[] =>
  reports ?? [{ broker: unnamed, amount, ...(asOf === undefined ? {} : { asOf }) }];

function costOf(month: string, currency: string, parts: readonly BrokerCost[]): MonthlyCost {
  const reports = parts.toSorted((one, other) => (one.broker < other.broker ? -1 : 1));
  const amount = sumOfAmounts(reports.map((part) => part.amount));
  const [latest] = reports.flatMap(({ asOf }) => asOf ?? []).sort((one, other) => (one < other ? 1 : -1));
  return { month, currency, amount, ...(latest === undefined ? {} : { asOf: latest }), reports };
}

const timeOf = ({ asOf }: { readonly asOf?: string }): number => (asOf === undefined ? 0 : Date.parse(secondsOf(asOf)));

const isNewer = (one: { readonly asOf?: string }, other: { readonly asOf?: string }): boolean =>
  timeOf(one) > timeOf(other);

/** `secondsOf` truncates to whole seconds, as the API server stores times. */
const secondsOf = (instant: string): string => `${new Date(instant).toISOString().slice(0, 19)}Z`;
