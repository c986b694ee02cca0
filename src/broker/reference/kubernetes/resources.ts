/** The types of Kubernetes objects that are made or watched. */
import type { KubernetesObject, Resource, UnknownObject } from '../../../runtime/index.ts';

const type = (group: string, version: string, plural: string, kind: string, namespaced = true): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced,
});

export const namespaces = type('', 'v1', 'namespaces', 'Namespace', false);
export const configMaps = type('', 'v1', 'configmaps', 'ConfigMap');
export const secrets = type('', 'v1', 'secrets', 'Secret');
export const pods = type('', 'v1', 'pods', 'Pod');
const services = type('', 'v1', 'services', 'Service');
export const volumeClaims = type('', 'v1', 'persistentvolumeclaims', 'PersistentVolumeClaim');
const deployments = type('apps', 'v1', 'deployments', 'Deployment');
const statefulSets = type('apps', 'v1', 'statefulsets', 'StatefulSet');
const autoscalers = type('autoscaling', 'v2', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler');
const cronJobs = type('batch', 'v1', 'cronjobs', 'CronJob');
const jobs = type('batch', 'v1', 'jobs', 'Job');
const ingresses = type('networking.k8s.io', 'v1', 'ingresses', 'Ingress');

/** What a request can lead to, in the order in which it is made: what others refer to comes first. */
export const managedResources: readonly Resource[] = [
  secrets,
  services,
  volumeClaims,
  deployments,
  statefulSets,
  autoscalers,
  cronJobs,
  ingresses,
];

/** What Kubernetes itself makes of that, and what must be gone too before a thing is gone. */
export const derivedResources: readonly Resource[] = [jobs, pods];

/** An object as it is to be; what is not in it is for others to set. */
export type Manifest = UnknownObject;

export function resourceOf(object: KubernetesObject): Resource {
  const found = managedResources.find(({ kind }) => kind === object.kind);
  if (found === undefined) throw new RangeError(`${object.kind} is none of the kinds that are made`);
  return found;
}
