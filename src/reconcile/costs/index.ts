/**
 * What resources cost: usage that brokers report comes in; out go `status.costs` of each resource, the totals of Teams and
 * Applications, and what is kept of resources that are gone. It must not know how a report came here.
 */
export { compareAmounts, isAmount, sumOfAmounts } from './amount.ts';
export type { CostConfigMap } from './entry-store.ts';
export { type CostRow, costRows } from './report.ts';
export {
  MONTH_LABEL,
  readSettled,
  type SettledCost,
  settledSelector,
} from './settled.ts';
export { totalCosts } from './totals.ts';
