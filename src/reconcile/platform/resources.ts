/** Built-in Kubernetes kinds that the platform creates for teams. */
import type { Resource } from '../../runtime/index.ts';

const core = (kind: string, plural: string, namespaced = true): Resource => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
});
const rbac = (kind: string, plural: string): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced: true,
});

export const namespaces = core('Namespace', 'namespaces', false);
export const resourceQuotas = core('ResourceQuota', 'resourcequotas');
export const configMaps = core('ConfigMap', 'configmaps');
export const kubernetesSecrets = core('Secret', 'secrets');
export const roles = rbac('Role', 'roles');
export const roleBindings = rbac('RoleBinding', 'rolebindings');
export const networkPolicies: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
};
