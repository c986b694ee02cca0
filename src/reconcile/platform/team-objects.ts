/**
 * The objects of a team namespace: the role and its binding, the quota, and the network policies (docs/requirements.md,
 * 000).
 */
import { GROUP, MANAGED_BY, MANAGED_BY_LABEL, TEAM_LABEL, type Team } from '../../api/index.ts';
import { apiVersionOf, type KubernetesObject, type Resource } from '../../runtime/index.ts';
import { namespaces, networkPolicies, resourceQuotas, roleBindings, roles } from './resources.ts';

/** The name of the developer role and of its binding (docs/requirements.md, 000). */
export const DEVELOPER_ROLE = 'team-developer';
export const QUOTA_NAME = 'team-quota';
const DENY_POLICY = 'default-deny';
const WITHIN_POLICY = 'allow-same-namespace';
/** The annotation prefix of each cost tag on the namespace. */
export const COST_TAG_PREFIX = `cost.${GROUP}/`;

export interface DesiredObject {
  readonly resource: Resource;
  readonly object: KubernetesObject & Readonly<Record<string, unknown>>;
}

/** docs/requirements.md, 000 RBAC Model: developers cannot read Secrets of the platform, nor write a status. */
const developerRules = [
  {
    apiGroups: [GROUP],
    resources: ['applications', 'services'],
    verbs: ['create', 'get', 'list', 'watch', 'update', 'patch', 'delete'],
  },
  { apiGroups: [GROUP], resources: ['databases', 'caches', 'topics'], verbs: ['get', 'list', 'watch'] },
];

/** The namespace has no owner reference: it is kept when its Team is deleted. */
export function namespaceOf({ spec }: Team): DesiredObject {
  const { tags } = costAnnotations(spec.costTags ?? {});
  const metadata = {
    name: spec.namespace,
    labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [TEAM_LABEL]: spec.namespace },
    ...(Object.keys(tags).length === 0 ? {} : { annotations: tags }),
  };
  return { resource: namespaces, object: { apiVersion: 'v1', kind: 'Namespace', metadata } };
}

/** `contentsOf` returns the objects in the namespace; a quota only if the Team has one. */
export function contentsOf(team: Team): DesiredObject[] {
  const { rbac = {}, quota = {} } = team.spec;
  const rbacGroup = roles.group;
  const role = make(roles, team, DEVELOPER_ROLE, { rules: developerRules });
  const binding = make(roleBindings, team, DEVELOPER_ROLE, {
    roleRef: { apiGroup: rbacGroup, kind: 'Role', name: DEVELOPER_ROLE },
    subjects: [
      ...(rbac.members ?? []).map((name) => ({ apiGroup: rbacGroup, kind: 'User', name })),
      ...(rbac.groups ?? []).map((name) => ({ apiGroup: rbacGroup, kind: 'Group', name })),
    ],
  });
  /**
   * docs/requirements.md, 000: no ingress from outside. Teams allow ingress with further policies, which add up. Egress
   * stays open: a team's services mostly talk to systems outside of this cluster that only brokers know, so an egress
   * policy would break every deployment, DNS first.
   */
  const deny = make(networkPolicies, team, DENY_POLICY, {
    spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [] },
  });
  const within = make(networkPolicies, team, WITHIN_POLICY, {
    spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector: {} }] }] },
  });
  // Traffic within the namespace is allowed before everything else is denied.
  const policies = [within, deny];
  const hard = Object.fromEntries(Object.entries(quota).map(([name, limit]) => [name, String(limit)]));
  const limits = make(resourceQuotas, team, QUOTA_NAME, { spec: { hard } });
  return Object.keys(hard).length === 0 ? [role, binding, ...policies] : [role, binding, ...policies, limits];
}

/**
 * `costAnnotations` turns cost tags into annotations. Keys that are no valid annotation names are returned in
 * `leftOut`.
 */
export function costAnnotations(costTags: Readonly<Record<string, string>>): {
  readonly tags: Record<string, string>;
  readonly leftOut: readonly string[];
} {
  const [fitting, leftOut] = [
    Object.entries(costTags).filter(fits),
    Object.entries(costTags).filter((tag) => !fits(tag)),
  ];
  return {
    tags: Object.fromEntries(fitting.map(([key, value]) => [`${COST_TAG_PREFIX}${key}`, value])),
    leftOut: leftOut.map(([key]) => key).sort(),
  };
}

const fits = ([key]: readonly [string, string]): boolean => /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(key);

function make(resource: Resource, { spec }: Team, name: string, content: object): DesiredObject {
  return {
    resource,
    object: {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: {
        name,
        namespace: spec.namespace,
        labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [TEAM_LABEL]: spec.namespace },
      },
      ...content,
    },
  };
}
