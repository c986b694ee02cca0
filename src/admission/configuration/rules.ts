/**
 * Builds the rules and conditions of the webhooks for Policies from what the policies match.
 *
 * A request is sent to one of these webhooks only, and each of them evaluates all policies: to `fail` if a policy that
 * fails closed matches, because the request is then denied while the webhook is unavailable whatever the other policies
 * say, else to `ignore`. The API server shows the response of one webhook, so a denial lists every violation. Platform
 * kinds have a webhook of their own (build.ts). Only if policies name different versions of a resource is a request
 * sent again, converted (versions.ts).
 */

import type { ScopeEntry } from '../../policy/internal.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';
import { isSentToGate, withoutDefinitions } from './crd-webhook.ts';
import { onlyConverted, withoutAsked, withoutNoise, withoutPlatform, withoutSystem } from './match-conditions.ts';
import { isSentToNamespaceGate, withoutNamespaceDeletions } from './namespace-webhook.ts';
import { breakGlassScope, reachesPolicyKinds, withoutBreakGlass } from './policy-kinds-webhook.ts';
import { covers, standsFor, type Target, targetsOf } from './targets.ts';
import type { FailurePolicy, MatchCondition, Rule, WebhookScope } from './types.ts';
import { layersOf, withoutStars } from './versions.ts';

/** A webhook for Policies. */
export interface Asked extends WebhookScope {
  readonly failurePolicy: FailurePolicy;
  /**
   * Undefined for requests as they are sent. For converted requests: the versions in which other webhooks receive them.
   */
  readonly converted: readonly string[] | undefined;
  /** Whether these are the requests of the break-glass group that a webhook with failurePolicy Fail leaves out. */
  readonly breakGlass?: boolean;
}

interface PolicyRules {
  readonly asked: readonly Asked[];
  /** The resources that the cluster does not serve (yet). */
  readonly unresolved: readonly ScopeEntry[];
}

interface RulesQuestion {
  readonly scope: readonly ScopeEntry[];
  readonly phase: 'mutate' | 'validate';
  /** Selects mutations by their reinvocation policy. If omitted, all mutations. */
  readonly reinvocation?: 'Never' | 'IfNeeded';
  readonly mapping: ResourceMapping;
  readonly platformNamespace: string;
  /** Namespaces that policies exempt, beside kube-system and the platform namespace. */
  readonly excludedNamespaces?: readonly string[] | undefined;
  /** Whether the CRD gate receives the validation of CustomResourceDefinitions. */
  readonly crds?: boolean | 'only' | undefined;
  readonly breakGlassGroup: string;
}

/** `systemNamespaces` lists the namespaces without which neither the cluster nor the platform can be repaired. */
export const systemNamespaces = (platformNamespace: string): readonly string[] => ['kube-system', platformNamespace];

export function rulesFor(question: RulesQuestion): PolicyRules {
  const { scope, phase, reinvocation, mapping, platformNamespace, breakGlassGroup } = question;
  // Other creations and updates of platform kinds are not sent here.
  const written = reinvocation === 'Never' ? ['CREATE', 'UPDATE'] : [];
  const unresolved: ScopeEntry[] = [];
  const haveGate = phase === 'validate' && Boolean(question.crds);
  const all = scope
    .filter((entry) => entry.phase === phase && (reinvocation === undefined || entry.reinvocation === reinvocation))
    .flatMap((entry) => {
      const { resolved, targets } = targetsOf(entry, mapping);
      if (!resolved) unresolved.push(entry);
      if (phase === 'mutate') return targets;
      return targets.filter((target) => !isSentToNamespaceGate(target) && !(haveGate && isSentToGate(target)));
    });
  const system = systemNamespaces(platformNamespace);
  // Exempt unless a Policy includes them.
  const exempt = [...system, ...(question.excludedNamespaces ?? [])];
  const concrete = (some: readonly Target[]) => some.flatMap((target) => withoutStars(target, mapping));
  const asked = layersOf(all, mapping).flatMap(({ converted, targets }) => {
    const closed = targets.filter(({ failurePolicy }) => failurePolicy === 'Fail');
    const open = targets.filter(
      (target) => target.failurePolicy === 'Ignore' && !closed.some((each) => covers(each, target)),
    );
    const more = (some: readonly Target[], left: readonly string[]) => [
      ...withoutBreakGlass(some, breakGlassGroup, ['DELETE', ...left]),
      ...(reinvocation === 'Never' ? [] : withoutPlatform(some)),
      ...(haveGate ? withoutDefinitions(some) : []),
      ...(phase === 'validate' ? withoutNamespaceDeletions(some, system) : []),
      ...(converted === undefined ? [] : onlyConverted(some)),
    ];
    const byGroup =
      converted === undefined && reachesPolicyKinds(closed, written)
        ? [{ failurePolicy: 'Ignore' as const, converted, breakGlass: true, ...breakGlassScope(breakGlassGroup) }]
        : [];
    const sent = [
      { failurePolicy: 'Fail' as const, targets: closed, conditions: more(closed, written) },
      {
        failurePolicy: 'Ignore' as const,
        targets: open,
        conditions: [...more(open, []), ...withoutAsked(open, concrete(closed), exempt)],
      },
    ].flatMap(({ failurePolicy, targets: some, conditions }) =>
      some.length === 0 ? [] : [{ failurePolicy, converted, ...scopeOf(some, exempt, conditions) }],
    );
    return [...sent, ...byGroup];
  });
  return { asked, unresolved };
}

function scopeOf(
  targets: readonly Target[],
  exempt: readonly string[],
  conditions: readonly MatchCondition[],
): WebhookScope {
  return {
    rules: merged(targets),
    matchConditions: [...withoutNoise(targets, exempt), ...conditions, ...withoutSystem(targets, exempt)],
    exemptNamespaces: targets.some(({ systemNamespaces }) => systemNamespaces) ? [] : exempt,
  };
}

/** Merges targets into as few rules as possible: resources with the same versions and operations share a rule. */
function merged(targets: readonly Target[]): Rule[] {
  const operations = new Map<string, { target: Target; operations: Set<string> }>();
  for (const target of targets) {
    const key = `${target.group} ${target.version} ${target.resource}`;
    const known = operations.get(key) ?? { target, operations: new Set() };
    known.operations.add(target.operation);
    operations.set(key, known);
  }
  const rules = new Map<string, { rule: Omit<Rule, 'resources'>; resources: string[] }>();
  for (const { target, operations: asked } of operations.values()) {
    const { group, version, resource } = target;
    const sorted = [...asked].sort();
    const key = `${group} ${version} ${sorted.join()}`;
    const rule = { apiGroups: [group], apiVersions: [version], operations: sorted, scope: '*' as const };
    const known = rules.get(key) ?? { rule, resources: [] };
    known.resources.push(resource);
    rules.set(key, known);
  }
  return [...rules.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { rule, resources }]) => ({ ...rule, resources: withoutRepetition(resources).sort() }));
}

/** Removes resources that a wildcard already covers: the API server rejects a configuration with such a rule. */
const withoutRepetition = (resources: readonly string[]): string[] =>
  resources.filter((each) => !resources.some((other) => other !== each && standsFor(other, each)));
