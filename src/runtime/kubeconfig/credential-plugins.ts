/** The part of @kubernetes/client-node that asks exec plugins and identity providers; a bundler leaves the rest out. */
export { KubeConfig } from '@kubernetes/client-node';
