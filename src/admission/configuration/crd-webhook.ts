/**
 * The webhooks of the CRD gate. They have a longer timeout than the others. All other checks of definitions run there
 * too, so that one denial lists everything.
 *
 * The platform's own definitions go to a separate webhook with failurePolicy Ignore: a platform whose kinds are missing
 * or outdated does not start and could otherwise never be reinstalled.
 */
import { GROUP, kinds } from '../../api/index.ts';
import { definitionGroup, definitionPlural } from '../gates/crds/definition.ts';
import type { Target } from './targets.ts';
import type { FailurePolicy, MatchCondition, WebhookScope } from './types.ts';

/** The longest timeout that the API server accepts. */
export const gateTimeoutSeconds = 30;
export const gatePath = '/crds';

const operations = ['CREATE', 'DELETE', 'UPDATE'];

/** The rule excludes the status, which the API server must be able to write. */
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

/** `isSentToGate` reports whether the webhook of the CRD gate receives the target. */
export const isSentToGate = ({ group, resource, operation }: Target): boolean =>
  group === definitionGroup && resource === definitionPlural && operations.includes(operation);

/** `withoutDefinitions` excludes the same requests from wildcard rules. */
export function withoutDefinitions(targets: readonly Target[]): MatchCondition[] {
  const isOpen = ({ group, resource }: Target) =>
    (group === '*' || group === definitionGroup) && resource.startsWith('*');
  if (!targets.some(isOpen)) return [];
  const definitions = `request.resource.group == '${definitionGroup}' && request.resource.resource == '${definitionPlural}' && !has(request.subResource) && request.operation in [${operations.map((each) => `'${each}'`).join(', ')}]`;
  return [{ name: 'not-definitions', expression: `!(${definitions})` }];
}
