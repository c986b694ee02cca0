/**
 * What one resource has cost, month by month: of each broker that had it the newest word, and the sum of them. Whatever is reported
 * twice, late or out of order comes to the same.
 */
import type { UsageReport } from '../../broker/index.ts';
import type { BrokerCost, MonthlyCost } from '../platform/ownership.ts';
import { sumOfAmounts } from './amount.ts';
import { keptCosts, newestFirst } from './totals.ts';

/** Of a report what counts. */
export type Usage = Pick<UsageReport, 'month' | 'currency' | 'amount'> & {
  readonly broker: string;
  readonly asOf?: string;
};

/** What the account becomes, or why it stays. `present` is the broker that has the resource now. */
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

/** Of two accounts of one resource the newer word of each broker. */
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

/** Accounts from before brokers were told apart name none: that was `unnamed`. */
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

/** Whole seconds, as the API server keeps an instant. */
const secondsOf = (instant: string): string => `${new Date(instant).toISOString().slice(0, 19)}Z`;
