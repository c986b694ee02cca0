/** Cost totals of several resources by month and currency. */
import type { MonthlyCost } from '../platform/ownership.ts';
import { sumOfAmounts } from './amount.ts';

/** The limit of `status.costs`. */
export const keptCosts = 48;

/** `totalCosts` sorts by newest month and keeps as many as fit. Currencies are never mixed. */
export function totalCosts(costs: Iterable<MonthlyCost>): MonthlyCost[] {
  const groups = Map.groupBy(costs, ({ month, currency }) => `${month} ${currency}`);
  const totals = [...groups].map(([key, parts]) => {
    const [month = '', currency = ''] = key.split(' ');
    return { month, currency, amount: sumOfAmounts(parts.map(({ amount }) => amount)) };
  });
  return newestFirst(totals).slice(0, keptCosts);
}

export const newestFirst = <Cost extends MonthlyCost>(costs: readonly Cost[]): Cost[] =>
  [...costs].sort((one, other) => compare(other.month, one.month) || compare(one.currency, other.currency));

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
