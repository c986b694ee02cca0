/**
 * The health of an operator on a cluster.
 *
 * In: a connection, the rolled-out snapshot, and the health thresholds of the Operator. Out: a report, which is healthy
 * only at the rolled-out revision. It must not know rollouts, nor when checks happen.
 */
export { type ClusterHealth, healthChecker } from './checker.ts';
export { ClusterMirror } from './mirror.ts';
export { type ClusterObjects, freshObjects, groupPods } from './objects.ts';
export { type HealthProfile, profileOf } from './profile.ts';
export { Semaphore, WatchBudget } from './semaphore.ts';
export type { CustomResource, Pod } from './shapes.ts';
export { type HealthThresholds, thresholdsOf } from './thresholds.ts';
