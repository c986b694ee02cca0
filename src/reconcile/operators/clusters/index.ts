/**
 * Reconciles Clusters. In: Clusters and their Secrets. Out: their status, their kubeconfigs sealed with the current
 * key, the published sealing key, and the cleanup of deleted Clusters. It must not know what is rolled out to them.
 */
export { addClusterReconciler, type ClusterReconcilerOptions } from './reconciler.ts';
