/** The Kubernetes resources that the broker creates or watches. */
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

/** The resources that a deployment can consist of, in the order of creation: referenced objects first. */
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

/** The resources that Kubernetes creates for them. They must be gone too before a deployment counts as deleted. */
export const derivedResources: readonly Resource[] = [jobs, pods];

/** A desired object. Fields that it does not set are left to other field managers. */
export type Manifest = UnknownObject;

export function resourceOf(object: KubernetesObject): Resource {
  const found = managedResources.find(({ kind }) => kind === object.kind);
  if (found === undefined) throw new RangeError(`${object.kind} is not a managed kind`);
  return found;
}
