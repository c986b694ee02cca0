/**
 * Kubeconfigs: how a cluster is reached and as which user.
 *
 * In: kubeconfig files, or the service account of the Pod. Out: a `ClusterConfig`. It must not know how connections are made.
 */
export { type ClusterConfig, type KubeconfigOptions, loadKubeconfig, type Material } from './kubeconfig.ts';
