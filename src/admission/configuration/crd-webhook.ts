/**
 * What the API server calls the gate for: a webhook of its own, which it may wait for longer than for others. Whatever else judges
 * definitions is asked there too, so that one denial lists everything.
 *
 * The definitions of the platform itself are sent to another one, which ignores our absence: a platform whose kinds are gone or
 * too old does not start, and could otherwise never be installed again.
 */
import { GROUP, kinds } from '../../api/index.ts';
import { definitionGroup, definitionPlural } from '../gates/crds/definition.ts';
import type { Target } from './targets.ts';
import type { FailurePolicy, MatchCondition, WebhookScope } from './types.ts';

/** The API server takes no more. */
export const gateTimeoutSeconds = 30;
export const gatePath = '/crds';

const operations = ['CREATE', 'DELETE', 'UPDATE'];

/** Not their status: the API server itself writes that, and must be able to. */
const rule = {
  apiGroups: [definitionGroup],
  apiVersions: ['v1'],
  operations,
  resources: [definitionPlural],
  scope: '*',
} as const;

const own = kinds.map(({ plural }) => `'${plural}.${GROUP}'`).join(', ');
const isOwn = `(object == null ? oldObject : object).metadata.name in [${own}]`;

interface GateWebhook {
  readonly name: string;
  readonly failurePolicy: FailurePolicy;
  readonly scope: WebhookScope;
}

export const gateWebhooks = (failurePolicy: FailurePolicy): readonly GateWebhook[] => [
  { name: 'crds', failurePolicy, scope: scopeWith({ name: 'not-the-platforms-own', expression: `!(${isOwn})` }) },
  {
    name: 'platform-crds',
    failurePolicy: 'Ignore',
    scope: scopeWith({ name: 'the-platforms-own', expression: isOwn }),
  },
];

const scopeWith = (condition: MatchCondition): WebhookScope => ({
  rules: [rule],
  matchConditions: [condition],
  exemptNamespaces: [],
});

/** Whether what a policy is about is sent to the gate. */
export const isSentToGate = ({ group, resource, operation }: Target): boolean =>
  group === definitionGroup && resource === definitionPlural && operations.includes(operation);

/** The other half of it, for rules that say `*`. */
export function withoutDefinitions(targets: readonly Target[]): MatchCondition[] {
  const isOpen = ({ group, resource }: Target) =>
    (group === '*' || group === definitionGroup) && resource.startsWith('*');
  if (!targets.some(isOpen)) return [];
  const definitions = `request.resource.group == '${definitionGroup}' && request.resource.resource == '${definitionPlural}' && !has(request.subResource) && request.operation in [${operations.map((each) => `'${each}'`).join(', ')}]`;
  return [{ name: 'not-definitions', expression: `!(${definitions})` }];
}
