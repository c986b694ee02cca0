/**
 * How an operator fares on a cluster.
 *
 * In: a connection, what was rolled out there (a snapshot), and what the Operator says makes it healthy. Out: a report, which is good only
 * where it is so at the revision that was rolled out. It must not know rollouts, nor when somebody looks.
 */
export { type ClusterHealth, healthChecker } from './checker.ts';
export { ClusterMirror } from './mirror.ts';
export { type ClusterObjects, freshObjects, groupPods } from './objects.ts';
export { type HealthProfile, profileOf } from './profile.ts';
export { Semaphore, WatchBudget } from './semaphore.ts';
export type { CustomResource, Pod } from './shapes.ts';
export { type HealthThresholds, thresholdsOf } from './thresholds.ts';
