/**
 * Remote clusters: access, Helm releases and health.
 *
 * In: Clusters, Operators, charts. Out: connections with temporary credentials, snapshots, releases, health. It must
 * not know: rollouts, their strategies, approvals, or the REST API.
 */
export * from './access/index.ts';
export * from './charts/index.ts';
export * from './contract.ts';
export * from './health/index.ts';
export { findHelm, type HelmLocation, mostHelmRuns } from './helm/index.ts';
export * from './install/index.ts';
export * from './kubeconfig/index.ts';
export * from './seal/index.ts';
export * from './snapshot/index.ts';
