/**
 * Whether the API server calls us for all that a policy is about: read from the webhook configurations as they stand in the cluster,
 * whoever has written them.
 */

import { fitsType, type ScopeEntry } from '../../policy/index.ts';
import type { ResourceMapping, UnknownObject } from '../../runtime/index.ts';

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

/** The first thing that we are not called for; undefined where nothing is missing. */
export function uncovered(
  scope: readonly ScopeEntry[],
  configurations: Configurations,
  mapping: ResourceMapping,
): string | undefined {
  for (const entry of scope) {
    const configuration = configurations[entry.phase];
    if (configuration === undefined) return `there is no webhook configuration to ${entry.phase}`;
    const webhooks = (configuration.webhooks ?? []) as readonly Webhook[];
    const rules = webhooks
      .filter(({ clientConfig }) => (clientConfig?.caBundle ?? '') !== '')
      .flatMap((webhook) => webhook.rules ?? []);
    const targets = targetsOf(entry, mapping);
    const missing = entry.operations.find(
      (operation) => !targets.every((target) => isCalledFor(rules, target, operation)),
    );
    if (missing !== undefined)
      return `${missing} of ${described(entry)} is not in the webhook configuration to ${entry.phase}`;
  }
  return undefined;
}

interface Target {
  readonly group: string;
  readonly version: string;
  /** With its subresource. */
  readonly resource: string;
}

/** What is served of it: a kind that nobody serves yet needs no webhook yet, there is nothing that could be written. */
function targetsOf(entry: ScopeEntry, mapping: ResourceMapping): Target[] {
  const { subresource } = entry;
  const own = subresource === undefined || subresource === '*';
  return mapping.resources.flatMap((served) => {
    const { group, version, kind, plural } = served;
    if (!fitsType(entry, { group, version, kind, resource: plural, subresource: own ? '' : subresource })) return [];
    if (own) return served.verbs.includes('create') ? [{ group, version, resource: plural }] : [];
    return served.subresources.includes(subresource) ? [{ group, version, resource: `${plural}/${subresource}` }] : [];
  });
}

function isCalledFor(rules: readonly WebhookRule[], { group, version, resource }: Target, operation: string): boolean {
  return rules.some(
    (rule) =>
      holds(rule.apiGroups, group) &&
      holds(rule.apiVersions, version) &&
      holds(rule.operations, operation) &&
      (rule.resources ?? []).some((pattern) => fits(pattern, resource)),
  );
}

const holds = (listed: readonly string[] | undefined, wanted: string): boolean =>
  listed?.some((each) => each === '*' || each === wanted) === true;

/** A star before the slash stands for any resource, one behind it for any subresource; alone it means no subresource. */
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
