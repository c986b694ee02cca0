/**
 * Operators on many clusters (requirement 002). In: Clusters, Operators and rollouts, and what `fleet` can do with them. Out: their
 * status. It must not know who may ask for what: admission decides, reconcilers act.
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
