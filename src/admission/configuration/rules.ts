/**
 * From what policies match to what the API server must ask us about: the rules and conditions of the webhooks for Policies.
 *
 * A request goes to one of them only, and whichever is asked judges by all policies: to `fail` where some policy that fails closed
 * is about it, for then it is refused while we are away whatever the others say, else to `ignore`. The API server shows the answer
 * of one webhook: so a denial lists every violation. The platform's own kinds go to a webhook of the platform (configuration.ts).
 * Only where policies name different versions of a resource is it sent again, converted (versions.ts).
 */

import type { ScopeEntry } from '../../policy/internal.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';
import { isSentToGate, withoutDefinitions } from './crd-webhook.ts';
import { onlyConverted, withoutAsked, withoutNoise, withoutPlatform, withoutSystem } from './match-conditions.ts';
import { isSentToNamespaceGate, withoutNamespaceDeletions } from './namespace-webhook.ts';
import { covers, standsFor, type Target, targetsOf } from './targets.ts';
import type { FailurePolicy, MatchCondition, Rule, WebhookScope } from './types.ts';
import { layersOf, withoutStars } from './versions.ts';

/** One webhook. */
export interface Asked extends WebhookScope {
  readonly failurePolicy: FailurePolicy;
  /** Undefined: requests as they are sent; else converted, and which versions another webhook is sent it in. */
  readonly converted: readonly string[] | undefined;
}

interface PolicyRules {
  readonly asked: readonly Asked[];
  /** What the cluster does not serve (yet). */
  readonly unresolved: readonly ScopeEntry[];
}

interface RulesQuestion {
  readonly scope: readonly ScopeEntry[];
  readonly phase: 'mutate' | 'validate';
  /** Of mutations, only those that want to be asked again, or that do not; left out, all. */
  readonly reinvocation?: 'Never' | 'IfNeeded';
  readonly mapping: ResourceMapping;
  readonly platformNamespace: string;
  /** Whether definitions that are validated go to the gate of their own. */
  readonly crds?: boolean | undefined;
}

/** Whose deletion, and what is in them, is nobody's to judge unless a Policy asks for it. */
export const exemptNamespaces = (platformNamespace: string): readonly string[] => ['kube-system', platformNamespace];

export function rulesFor(question: RulesQuestion): PolicyRules {
  const { scope, phase, reinvocation, mapping, platformNamespace } = question;
  const unresolved: ScopeEntry[] = [];
  const haveGate = phase === 'validate' && question.crds === true;
  const all = scope
    .filter((entry) => entry.phase === phase && (reinvocation === undefined || entry.reinvocation === reinvocation))
    .flatMap((entry) => {
      const { resolved, targets } = targetsOf(entry, mapping);
      if (!resolved) unresolved.push(entry);
      if (phase === 'mutate') return targets;
      return targets.filter((target) => !isSentToNamespaceGate(target) && !(haveGate && isSentToGate(target)));
    });
  const exempt = exemptNamespaces(platformNamespace);
  const concrete = (some: readonly Target[]) => some.flatMap((target) => withoutStars(target, mapping));
  const asked = layersOf(all, mapping).flatMap(({ converted, targets }) => {
    const closed = targets.filter(({ failurePolicy }) => failurePolicy === 'Fail');
    const open = targets.filter(
      (target) => target.failurePolicy === 'Ignore' && !closed.some((each) => covers(each, target)),
    );
    const more = (some: readonly Target[]) => [
      ...(reinvocation === 'Never' ? [] : withoutPlatform(some)),
      ...(haveGate ? withoutDefinitions(some) : []),
      ...(phase === 'validate' ? withoutNamespaceDeletions(some, exempt) : []),
      ...(converted === undefined ? [] : onlyConverted(some)),
    ];
    return [
      { failurePolicy: 'Fail' as const, targets: closed, conditions: more(closed) },
      {
        failurePolicy: 'Ignore' as const,
        targets: open,
        conditions: [...more(open), ...withoutAsked(open, concrete(closed), exempt)],
      },
    ].flatMap(({ failurePolicy, targets: some, conditions }) =>
      some.length === 0 ? [] : [{ failurePolicy, converted, ...scopeOf(some, exempt, conditions) }],
    );
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

/** As few rules as say the same: resources of the same versions with the same operations together. */
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

/** The API server refuses a rule, and the whole configuration with it, that names what a `*` in it stands for already. */
const withoutRepetition = (resources: readonly string[]): string[] =>
  resources.filter((each) => !resources.some((other) => other !== each && standsFor(other, each)));
