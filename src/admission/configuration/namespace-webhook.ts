/**
 * What the API server calls the gate for: Namespaces that are deleted, and nothing else about them. Whatever else judges that is asked
 * there too, so that one denial lists everything.
 *
 * The namespaces of Teams, which carry their label, follow the failurePolicy of the platform. Others may hold objects of the platform,
 * but most do not: they go while nobody answers, unless a Policy that fails closed is about them. kube-system and the platform's own
 * are nobody's to hold up; the platform must be removable.
 */
import { TEAM_LABEL } from '../../api/index.ts';
import { standsFor, type Target } from './targets.ts';
import type { FailurePolicy, MatchCondition, WebhookScope } from './types.ts';

export const namespacesPath = '/namespaces';

const operation = 'DELETE';
const resource = 'namespaces';
const rule = {
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: [operation],
  resources: [resource],
  scope: '*',
} as const;

const isTeams = `has(oldObject.metadata.labels) && '${TEAM_LABEL}' in oldObject.metadata.labels`;

interface NamespaceWebhook {
  readonly name: string;
  readonly failurePolicy: FailurePolicy;
  readonly scope: WebhookScope;
}

interface NamespaceWebhooksOptions {
  readonly failurePolicy: FailurePolicy;
  /** What policies are about. */
  readonly targets: readonly Target[];
  readonly exemptNamespaces: readonly string[];
}

export function namespaceWebhooks(options: NamespaceWebhooksOptions): readonly NamespaceWebhook[] {
  const { failurePolicy, targets, exemptNamespaces } = options;
  const scopeWith = (condition: MatchCondition): WebhookScope => ({
    rules: [rule],
    matchConditions: [condition],
    exemptNamespaces,
  });
  const isClosed = targets.some((target) => target.failurePolicy === 'Fail' && mayBeDeletion(target));
  return [
    { name: 'team-namespaces', failurePolicy, scope: scopeWith({ name: 'of-a-team', expression: isTeams }) },
    {
      name: 'namespaces',
      failurePolicy: isClosed ? 'Fail' : 'Ignore',
      scope: scopeWith({ name: 'of-no-team', expression: `!(${isTeams})` }),
    },
  ];
}

const mayBeDeletion = (target: Target): boolean =>
  target.operation === operation &&
  (target.group === '*' || target.group === '') &&
  (target.version === '*' || target.version === 'v1') &&
  standsFor(target.resource, resource);

/** Whether all that a policy is about there is sent to the gate; one on system namespaces is about more. */
export const isSentToNamespaceGate = (target: Target): boolean =>
  target.group === '' && target.resource === resource && target.operation === operation && !target.systemNamespaces;

/** The other half of it, for rules that are about more: a `*`, or system namespaces too. */
export function withoutNamespaceDeletions(
  targets: readonly Target[],
  exemptNamespaces: readonly string[],
): MatchCondition[] {
  if (!targets.some(mayBeDeletion)) return [];
  const exempt = exemptNamespaces.map((each) => `'${each}'`).join(', ');
  // The API server gives a request about a Namespace the name of that as its namespace.
  const isSent = `request.resource.group == '' && request.resource.resource == '${resource}' && !has(request.subResource) && request.operation == '${operation}' && !(has(request.namespace) && request.namespace in [${exempt}])`;
  return [{ name: 'not-namespace-deletions', expression: `!(${isSent})` }];
}
