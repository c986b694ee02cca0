/** Built-in Kubernetes kinds that are checked. */
import type { Resource } from '../../runtime/index.ts';

const kindOf = (group: string, kind: string, plural: string, namespaced = true, version = 'v1'): Resource => ({
  group,
  version,
  kind,
  plural,
  namespaced,
});

export const pods = kindOf('', 'Pod', 'pods');
export const namespaces = kindOf('', 'Namespace', 'namespaces', false);
export const endpointSlices = kindOf('discovery.k8s.io', 'EndpointSlice', 'endpointslices');
export const podMetrics = kindOf('metrics.k8s.io', 'PodMetrics', 'pods', true, 'v1beta1');

/** Workload resources by kind. */
export const workloadResources = {
  Deployment: kindOf('apps', 'Deployment', 'deployments'),
  StatefulSet: kindOf('apps', 'StatefulSet', 'statefulsets'),
  DaemonSet: kindOf('apps', 'DaemonSet', 'daemonsets'),
} as const;

export type WorkloadKind = keyof typeof workloadResources;

export const webhookResources = {
  ValidatingWebhookConfiguration: kindOf(
    'admissionregistration.k8s.io',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    false,
  ),
  MutatingWebhookConfiguration: kindOf(
    'admissionregistration.k8s.io',
    'MutatingWebhookConfiguration',
    'mutatingwebhookconfigurations',
    false,
  ),
} as const;

export type WebhookKind = keyof typeof webhookResources;
