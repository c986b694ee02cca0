/** Built-in Kubernetes kinds used for cluster access. */
import type { KubernetesObject, Resource } from '../../runtime/index.ts';

const resource = (group: string, kind: string, plural: string, namespaced: boolean): Resource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced,
});
const rbac = 'rbac.authorization.k8s.io';
const admission = 'admissionregistration.k8s.io';

export const namespaces = resource('', 'Namespace', 'namespaces', false);
export const serviceAccounts = resource('', 'ServiceAccount', 'serviceaccounts', true);
export const roles = resource(rbac, 'Role', 'roles', true);
export const roleBindings = resource(rbac, 'RoleBinding', 'rolebindings', true);
export const clusterRoles = resource(rbac, 'ClusterRole', 'clusterroles', false);
export const clusterRoleBindings = resource(rbac, 'ClusterRoleBinding', 'clusterrolebindings', false);
export const definitions = resource(
  'apiextensions.k8s.io',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  false,
);
export const validatingWebhooks = resource(
  admission,
  'ValidatingWebhookConfiguration',
  'validatingwebhookconfigurations',
  false,
);
export const mutatingWebhooks = resource(
  admission,
  'MutatingWebhookConfiguration',
  'mutatingwebhookconfigurations',
  false,
);
export const admissionPolicies = resource(admission, 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', false);
export const admissionPolicyBindings = resource(
  admission,
  'ValidatingAdmissionPolicyBinding',
  'validatingadmissionpolicybindings',
  false,
);

/** An RBAC rule. */
export interface PolicyRule {
  apiGroups?: readonly string[];
  resources?: readonly string[];
  resourceNames?: readonly string[];
  nonResourceURLs?: readonly string[];
  verbs: readonly string[];
}

export interface RoleObject extends KubernetesObject {
  rules?: readonly PolicyRule[];
  aggregationRule?: unknown;
}

export interface DefinitionObject extends KubernetesObject {
  spec?: { group?: string; scope?: string; names?: { plural?: string; kind?: string } };
}

export interface WebhookObject extends KubernetesObject {
  webhooks?: readonly { rules?: readonly { apiGroups?: readonly string[]; resources?: readonly string[] }[] }[];
}
