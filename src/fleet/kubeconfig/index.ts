/**
 * The kubeconfigs of Clusters. In: text from outside. Out: how a cluster is reached, or which field is refused and why. It must not
 * know where they are kept, and it opens no connection.
 */
export { readClusterKubeconfig } from './read.ts';
export { writeKubeconfig } from './write.ts';
