/**
 * The way into clusters. In: Clusters and the keys that their kubeconfigs are sealed with. Out: connections with temporary credentials
 * that may do what they are for. It must not know what is installed with them, or why.
 */
export { OBSERVER } from './accounts.ts';
export { type CredentialsSource, readCredentials } from './credentials.ts';
export { type ClusterAccess, connectionLimits, type FleetOptions, type ManagedFleet, openFleet } from './fleet.ts';
export { probe, probeKubeconfig } from './probe.ts';
