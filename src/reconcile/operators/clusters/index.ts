/**
 * What becomes of Clusters. In: Clusters and their Secrets. Out: their status, their kubeconfigs sealed with the key of today, the key
 * itself for who adds one, and nothing that is left of those that are deleted. It must not know what is rolled out to them.
 */
export { addClusterReconciler, type ClusterReconcilerOptions } from './reconciler.ts';
