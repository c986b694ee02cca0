/**
 * Checks that the API server calls the webhook for everything that a policy matches, from the webhook configurations in
 * the cluster, whoever wrote them.
 */

import { matchesType, type ScopeEntry } from '../../policy/internal.ts';
import type { UnknownObject } from '../../runtime/index.ts';
import type { ResourceMapping, ServedResource } from '../../runtime/internal.ts';

interface WebhookRule {
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly operations?: readonly string[];
}

interface Webhook {
  readonly failurePolicy?: string;
  readonly clientConfig?: { readonly caBundle?: string };
  readonly rules?: readonly WebhookRule[];
}

export interface Configurations {
  readonly mutate: UnknownObject | undefined;
  readonly validate: UnknownObject | undefined;
}

/** `uncovered` describes the first match that the webhook is not called for; undefined if everything is covered. */
export function uncovered(
  scope: readonly ScopeEntry[],
  configurations: Configurations,
  mapping: ResourceMapping,
): string | undefined {
  for (const entry of scope) {
    const configuration = configurations[entry.phase];
    if (configuration === undefined) return `no webhook configuration to ${entry.phase} exists`;
    const webhooks = ((configuration.webhooks ?? []) as readonly Webhook[]).filter(
      ({ clientConfig }) => (clientConfig?.caBundle ?? '') !== '',
    );
    const targets = targetsOf(entry, mapping);
    for (const operation of entry.operations) {
      const missing = targets.find((target) => !isCalledFor(webhooks, target, operation));
      if (missing === undefined) continue;
      const sent = missing.sent === missing.version ? '' : `, sent as ${missing.sent},`;
      return `${operation} of ${described(entry)}${sent} is not in the webhook configuration to ${entry.phase}`;
    }
  }
  return undefined;
}

interface Target {
  readonly group: string;
  readonly version: string;
  /** The resource with its subresource. */
  readonly resource: string;
  /** The version of the request, which the webhook must receive as `version`. */
  readonly sent: string;
}

/**
 * Only served kinds need a webhook: objects of other kinds cannot be written. A request in a version that the policy
 * does not match must be converted to one that it matches.
 */
function targetsOf(entry: ScopeEntry, mapping: ResourceMapping): Target[] {
  const { subresource } = entry;
  const own = subresource === undefined || subresource === '*';
  const isMeant = ({ group, version, kind, plural }: ServedResource) =>
    matchesType(entry, { group, version, kind, resource: plural, subresource: own ? '' : subresource });
  const isServed = ({ verbs, subresources }: ServedResource) =>
    own ? verbs.includes('create') : subresources.includes(subresource);
  return mapping.resources.filter(isServed).flatMap((served) => {
    const { group, version, plural } = served;
    const resource = own ? plural : `${plural}/${subresource}`;
    if (isMeant(served)) return [{ group, version, resource, sent: version }];
    const shown = mapping.resources.find(
      (other) => other.group === group && other.plural === plural && isServed(other) && isMeant(other),
    );
    return shown === undefined ? [] : [{ group, version: shown.version, resource, sent: version }];
  });
}

/**
 * Follows the API server: a webhook with a rule for the request version receives it unconverted, any other receives the
 * version of its rule.
 */
function isCalledFor(webhooks: readonly Webhook[], { sent, ...target }: Target, operation: string): boolean {
  return webhooks.some(({ rules = [] }) => {
    const asSent = rules.some((rule) => fitsRule(rule, { ...target, version: sent }, operation));
    if (sent === target.version) return asSent;
    return !asSent && rules.some((rule) => fitsRule(rule, target, operation));
  });
}

const fitsRule = (rule: WebhookRule, { group, version, resource }: Omit<Target, 'sent'>, operation: string): boolean =>
  includes(rule.apiGroups, group) &&
  includes(rule.apiVersions, version) &&
  includes(rule.operations, operation) &&
  (rule.resources ?? []).some((pattern) => fits(pattern, resource));

const includes = (listed: readonly string[] | undefined, wanted: string): boolean =>
  listed?.some((each) => each === '*' || each === wanted) === true;

/**
 * A star before the slash stands for any resource, one after it for any subresource; a star alone excludes
 * subresources.
 */
function fits(pattern: string, resource: string): boolean {
  if (pattern === '*/*' || pattern === resource) return true;
  const [wanted = '', wantedBelow] = pattern.split('/');
  const [name = '', below] = resource.split('/');
  return (wanted === '*' || wanted === name) && (wantedBelow === below || (wantedBelow === '*' && below !== undefined));
}

function described({ group, version, kind, resource, subresource }: ScopeEntry): string {
  return [group === '' ? 'core' : group, version, kind ?? resource ?? '*', subresource]
    .filter((part) => part !== undefined)
    .join('/');
}
