/**
 * Kubeconfigs of Clusters. In: untrusted text. Out: connection settings, or the rejected field and why. It must not
 * know where kubeconfigs are stored, and opens no connection.
 */
export { readClusterKubeconfig } from './read.ts';
export { writeKubeconfig } from './write.ts';
