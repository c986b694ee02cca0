/**
 * The webhooks of Policies, PolicyExceptions and Approvals, which decide what everybody else may do. Each kind has two:
 * while the webhook is unavailable, everyone else waits, and the break-glass group can repair the cluster.
 *
 * The webhook of the group receives deletions too, in place of the webhooks for requests that policies match: one of
 * those may have failurePolicy Fail, and a Policy that matches the deletion of Policies could then never be deleted.
 */
import { approval, GROUP, policy, policyException, VERSION } from '../../api/index.ts';
import { overlap, type Target } from './targets.ts';
import type { FailurePolicy, MatchCondition, WebhookScope } from './types.ts';

export const policyKindPlurals: readonly string[] = [policy.plural, policyException.plural, approval.plural];
export const approvalPlurals: readonly string[] = [approval.plural];

interface PolicyKindWebhook {
  readonly name: string;
  readonly failurePolicy: FailurePolicy;
  readonly scope: WebhookScope;
}

/** `policyKindWebhooks` builds the two webhooks of a phase. Deletions are validated, and never mutated. */
export function policyKindWebhooks(
  verb: 'mutate' | 'validate',
  group: string,
  plurals: readonly string[] = policyKindPlurals,
): readonly PolicyKindWebhook[] {
  const more = verb === 'validate' ? ['DELETE'] : [];
  return [
    {
      name: 'policies',
      failurePolicy: 'Fail',
      scope: scopeOf(['CREATE', 'UPDATE'], { name: 'not-break-glass', expression: `!(${isMember(group)})` }, plurals),
    },
    { name: 'policies-break-glass', failurePolicy: 'Ignore', scope: breakGlassScope(group, more, plurals) },
  ];
}

/** `breakGlassScope` selects the writes of the group to these kinds. */
export const breakGlassScope = (
  group: string,
  more: readonly string[] = [],
  plurals: readonly string[] = policyKindPlurals,
): WebhookScope =>
  scopeOf(['CREATE', 'UPDATE', ...more], { name: 'break-glass', expression: isMember(group) }, plurals);

const scopeOf = (
  operations: readonly string[],
  condition: MatchCondition,
  resources: readonly string[],
): WebhookScope => ({
  rules: [{ apiGroups: [GROUP], apiVersions: [VERSION], operations, resources, scope: '*' }],
  matchConditions: [condition],
  exemptNamespaces: [],
});

/** `reachesPolicyKinds` reports whether the targets include one of the operations on these kinds. */
export const reachesPolicyKinds = (targets: readonly Target[], operations: readonly string[]): boolean =>
  targets.some((target) =>
    policyKindPlurals.some((resource) =>
      operations.some((operation) => overlap(target, { ...target, group: GROUP, resource, operation })),
    ),
  );

/** `withoutBreakGlass` excludes the operations of the group on these kinds from the webhooks for Policies. */
export function withoutBreakGlass(
  targets: readonly Target[],
  group: string,
  operations: readonly string[],
): MatchCondition[] {
  if (!reachesPolicyKinds(targets, operations)) return [];
  const own = `request.resource.group == '${GROUP}' && request.resource.resource in ${listed(policyKindPlurals)} && !has(request.subResource) && request.operation in ${listed(operations)}`;
  return [{ name: 'not-break-glass', expression: `!(${own} && ${isMember(group)})` }];
}

/** A JSON string is a CEL string. */
const isMember = (group: string): string =>
  `has(request.userInfo.groups) && request.userInfo.groups.exists(group, group == ${JSON.stringify(group)})`;

const listed = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(', ')}]`;
