/**
 * Operators on many clusters (docs/requirements.md, 002). In: Clusters, Operators and OperatorDeployments, and the
 * access to clusters from `fleet`. Out: their statuses. It must not know who may request what: admission decides,
 * reconcilers act.
 */

export * from './catalog/index.ts';
export * from './clusters/index.ts';
export * from './health/index.ts';
export { inventoryMetrics } from './inventory.ts';
export * from './mail/index.ts';
export { addRolloutReconciler } from './rollout/index.ts';
export {
  type ApprovalLevel,
  defaultRolloutSettings,
  levelsFor,
  type RolloutSettings,
  readRolloutSettings,
} from './settings.ts';
