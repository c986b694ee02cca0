/**
 * Cluster access. In: Clusters, and the keys that seal their kubeconfigs. Out: connections with temporary, minimal
 * credentials. It must not know what is installed with them, or why.
 */
export { OBSERVER } from './accounts.ts';
export { type CredentialsSource, readCredentials } from './credentials.ts';
export { type ClusterAccess, connectionLimits, type FleetOptions, type ManagedFleet, openFleet } from './fleet.ts';
export { probe, probeKubeconfig } from './probe.ts';
