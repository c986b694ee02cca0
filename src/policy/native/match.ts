/** Reads matchConstraints of a policy and matchResources of a binding, which have the same shape. */
import type { MatchModel, TypeMatch } from '../model.ts';
import type { Operation } from '../request.ts';
import type { Fields } from './fields.ts';

const OPERATIONS: readonly Operation[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'];

/**
 * The types on which the API server never evaluates policies, whatever their rules: a policy that denied these could
 * not be repaired.
 */
export const NEVER_ASKED: readonly TypeMatch[] = [
  ...['selfsubjectreviews', 'tokenreviews'].map((resource) => never('authentication.k8s.io', resource)),
  ...['localsubjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'].map(
    (resource) => never('authorization.k8s.io', resource),
  ),
  ...[
    'validatingwebhookconfigurations',
    'mutatingwebhookconfigurations',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
    'mutatingadmissionpolicies',
    'mutatingadmissionpolicybindings',
  ].map((resource) => never('admissionregistration.k8s.io', resource)),
];

export function readMatch(fields: Fields | undefined, operations: readonly Operation[] = OPERATIONS): MatchModel {
  const equivalent = (fields?.choice('matchPolicy', ['Equivalent', 'Exact']) ?? 'Equivalent') === 'Equivalent';
  const rules = fields?.objects('resourceRules') ?? [];
  const excluded = fields?.objects('excludeResourceRules') ?? [];
  const objectSelector = fields?.selector('objectSelector');
  const namespaceSelector = fields?.selector('namespaceSelector');
  return {
    ...(rules.length > 0 ? { types: rules.flatMap((rule) => readRule(rule, equivalent, operations)) } : {}),
    excludeTypes: [...NEVER_ASKED, ...excluded.flatMap((rule) => readRule(rule, equivalent, operations))],
    operations,
    ...(selects(objectSelector) ? { objectSelector } : {}),
    ...(selects(namespaceSelector) ? { namespaceSelector } : {}),
    // The API server exempts no namespace from its own policies.
    includeSystemNamespaces: true,
  };
}

/** A rule contains lists; each combination is a separate type. */
function readRule(rule: Fields, equivalent: boolean, allowed: readonly Operation[]): readonly TypeMatch[] {
  const asked = rule.texts('operations');
  const unknown = asked.filter((each) => each !== '*' && !OPERATIONS.includes(each as Operation));
  if (unknown.length > 0) rule.wrong('operations', `must contain only *, ${OPERATIONS.join(', ')}, got ${unknown}`);
  for (const name of ['operations', 'apiGroups', 'apiVersions', 'resources']) {
    if (rule.texts(name).length === 0) rule.wrong(name, 'must have at least one entry');
  }
  const resourceNames = rule.texts('resourceNames');
  const common = {
    operations: asked.includes('*') ? allowed : allowed.filter((each) => asked.includes(each)),
    scope: rule.choice('scope', ['*', 'Cluster', 'Namespaced']) ?? '*',
    equivalent,
    ...(resourceNames.length > 0 ? { resourceNames } : {}),
  } satisfies Partial<TypeMatch>;
  const types: TypeMatch[] = [];
  for (const group of rule.texts('apiGroups')) {
    for (const version of rule.texts('apiVersions')) {
      for (const resource of rule.texts('resources')) {
        const slash = resource.indexOf('/');
        types.push({
          group,
          version,
          resource: slash < 0 ? resource : resource.slice(0, slash),
          ...(slash < 0 ? {} : { subresource: resource.slice(slash + 1) }),
          ...common,
        });
      }
    }
  }
  return types;
}

function never(group: string, resource: string): TypeMatch {
  return { group, version: '*', resource, subresource: '*', operations: OPERATIONS };
}

const selects = <T extends object>(selector: T | undefined): selector is T =>
  selector !== undefined && Object.keys(selector).length > 0;
