/**
 * The webhooks of the namespaces gate: deletions of Namespaces. All other checks of these deletions run there too, so
 * that one denial lists everything.
 *
 * Namespaces of Teams, which carry their label, have the failurePolicy of the platform. Most other namespaces hold no
 * platform objects: they can be deleted while the webhook is unavailable, unless a Policy that fails closed matches.
 * kube-system and the platform namespace are exempt, because the platform must be removable.
 *
 * Another webhook receives changes of the team label, and nothing else: namespaces without the label, and updates that
 * leave it as it is, never depend on the platform.
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

const teamLabelOf = (object: string): string => `${object}.metadata.?labels[?'${TEAM_LABEL}']`;

/** Labels can also be written through the subresources. */
const labelScope: WebhookScope = {
  rules: [
    {
      ...rule,
      operations: ['CREATE', 'UPDATE'],
      resources: [resource, `${resource}/status`, `${resource}/finalize`],
    },
  ],
  matchConditions: [
    {
      name: 'changes-team-label',
      expression: `request.operation == 'CREATE' || ${teamLabelOf('oldObject')} != ${teamLabelOf('object')}`,
    },
  ],
  exemptNamespaces: [],
  objectLabel: TEAM_LABEL,
};

interface NamespaceWebhook {
  readonly name: string;
  readonly failurePolicy: FailurePolicy;
  readonly scope: WebhookScope;
}

interface NamespaceWebhooksOptions {
  readonly failurePolicy: FailurePolicy;
  /** The targets of the policies. */
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
    { name: 'namespace-labels', failurePolicy, scope: labelScope },
  ];
}

const mayBeDeletion = (target: Target): boolean =>
  target.operation === operation &&
  (target.group === '*' || target.group === '') &&
  (target.version === '*' || target.version === 'v1') &&
  standsFor(target.resource, resource);

/**
 * `isSentToNamespaceGate` reports whether the webhook of the gate receives every request of the target. A policy that
 * includes system namespaces matches more.
 */
export const isSentToNamespaceGate = (target: Target): boolean =>
  target.group === '' && target.resource === resource && target.operation === operation && !target.systemNamespaces;

/**
 * `withoutNamespaceDeletions` excludes the same requests from rules that match more: wildcards, or system namespaces.
 */
export function withoutNamespaceDeletions(
  targets: readonly Target[],
  exemptNamespaces: readonly string[],
): MatchCondition[] {
  if (!targets.some(mayBeDeletion)) return [];
  const exempt = exemptNamespaces.map((each) => `'${each}'`).join(', ');
  // For a request on a Namespace, the API server sets request.namespace to its name.
  const isSent = `request.resource.group == '' && request.resource.resource == '${resource}' && !has(request.subResource) && request.operation == '${operation}' && !(has(request.namespace) && request.namespace in [${exempt}])`;
  return [{ name: 'not-namespace-deletions', expression: `!(${isSent})` }];
}
