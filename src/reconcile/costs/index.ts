/**
 * Costs: usage reports of brokers come in; out go `status.costs` of each resource, the totals of Teams and
 * Applications, and the settled costs of deleted resources. It must not know how a report was delivered.
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
