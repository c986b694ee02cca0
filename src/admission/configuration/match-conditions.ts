/**
 * The matchConditions of the webhooks: CEL expressions for what webhook rules cannot express. The API server evaluates
 * them before it calls a webhook.
 */

import { GROUP } from '../../api/index.ts';
import { overlap, ownPlurals, type Target } from './targets.ts';
import type { MatchCondition } from './types.ts';

const eventGroups: readonly string[] = ['', 'events.k8s.io'];

/**
 * Events are served in two API groups and converted between them. Conditions see the group of the original request, so
 * both are listed.
 */
const inGroupsSent = (target: Target): Target[] =>
  target.resource.split('/')[0] === 'events' && eventGroups.includes(target.group)
    ? eventGroups.map((group) => ({ ...target, group }))
    : [target];

const noise: readonly { readonly group: string; readonly resource: string }[] = [
  { group: '', resource: 'events' },
  { group: 'events.k8s.io', resource: 'events' },
  { group: 'coordination.k8s.io', resource: 'leases' },
  { group: 'authorization.k8s.io', resource: '*' },
  { group: 'authentication.k8s.io', resource: '*' },
];

/** `isNoise` reports whether a wildcard excludes the resource. */
export const isNoise = ({ group, resource }: Pick<Target, 'group' | 'resource'>): boolean =>
  noise.some((each) => each.group === group && (each.resource === '*' || each.resource === resource.split('/')[0]));

/** `withoutNoise` excludes high-frequency writes and access reviews from wildcards, unless a policy names them. */
export function withoutNoise(targets: readonly Target[], exempt: readonly string[]): MatchCondition[] {
  if (!targets.some(({ sparing }) => sparing)) return [];
  const meant = targets.filter((target) => !target.sparing && noise.some((each) => mayMean(target, each)));
  return [{ name: 'no-noise', expression: [notNoise(), ...termsOf(meant, exempt)].join(' || ') }];
}

const mayMean = (target: Target, { group, resource }: (typeof noise)[number]): boolean =>
  (target.group === '*' || target.group === group) &&
  (resource === '*' || target.resource.includes('*') || target.resource.split('/')[0] === resource);

const notNoise = (): string => `!(${noise.map(({ group, resource }) => isOf(group, resource)).join(' || ')})`;

/**
 * `withoutPlatform` excludes the platform kinds from wildcard rules, because they have a webhook of their own
 * (targets.ts).
 */
export function withoutPlatform(targets: readonly Target[]): MatchCondition[] {
  const isOpen = ({ group, resource }: Target) => group === '*' || (group === GROUP && resource.startsWith('*'));
  if (!targets.some(isOpen)) return [];
  const own = `request.resource.group == '${GROUP}' && request.resource.resource in ${listed(ownPlurals)} && ${noSubresource} && request.operation in ['CREATE', 'UPDATE']`;
  return [{ name: 'not-the-platforms-own', expression: `!(${own})` }];
}

/**
 * `withoutSystem` restricts requests from kube-system and the platform namespace to the targets of policies that
 * include system namespaces, if only some do.
 */
export function withoutSystem(targets: readonly Target[], exempt: readonly string[]): MatchCondition[] {
  const reaching = targets.filter(({ systemNamespaces }) => systemNamespaces);
  if (reaching.length === 0 || reaching.length === targets.length) return [];
  const terms = termsOf(reaching, exempt);
  return [{ name: 'system-namespaces', expression: [outside(exempt), ...terms].join(' || ') }];
}

/** `withoutAsked` excludes requests that another webhook already receives: that webhook evaluates all policies. */
export function withoutAsked(
  targets: readonly Target[],
  asked: readonly Target[],
  exempt: readonly string[],
): MatchCondition[] {
  const both = asked.filter((each) => targets.some((target) => overlap(target, each)));
  if (both.length === 0) return [];
  return noneOf('not-asked-already', termsOf(both, exempt));
}

/** The length limit of an expression. An API server accepts up to 64 conditions of at most 100,000 characters each. */
const longestExpression = 20_000;

/** Splits the terms into as many conditions as needed. All of them must hold. */
function noneOf(name: string, terms: readonly string[]): MatchCondition[] {
  const parts: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const term of terms) {
    if (length + term.length > longestExpression) {
      parts.push([]);
      length = 0;
    }
    parts.at(-1)?.push(term);
    length += term.length + ' || '.length;
  }
  return parts.map((part, index) => ({
    name: index === 0 ? name : `${name}-${index + 1}`,
    expression: `!(${part.join(' || ')})`,
  }));
}

/** Builds the terms that match the targets regardless of the version, as few as possible. */
function termsOf(targets: readonly Target[], exempt: readonly string[]): string[] {
  const operations = new Map<string, { target: Target; operations: Set<string> }>();
  for (const target of targets.flatMap(inGroupsSent)) {
    const key = [target.group, target.resource, target.systemNamespaces, target.sparing].join(' ');
    const known = operations.get(key) ?? { target, operations: new Set() };
    known.operations.add(target.operation);
    operations.set(key, known);
  }
  const names = new Map<string, Set<string>>();
  for (const { target, operations: asked } of operations.values()) {
    const [name = '', below = ''] = target.resource.split('/');
    const expression = [
      ...(target.group === '*' ? [] : [`request.resource.group == '${target.group}'`]),
      ...subresourceOf(target.resource, below),
      `request.operation in ${listed([...asked].sort())}`,
      ...(target.systemNamespaces ? [] : [outside(exempt)]),
      ...(target.sparing ? [notNoise()] : []),
    ].join(' && ');
    names.set(expression, (names.get(expression) ?? new Set()).add(name));
  }
  return termsNaming(names);
}

function subresourceOf(resource: string, below: string): string[] {
  if (resource === '*/*') return [];
  return [below === '*' ? 'has(request.subResource)' : isBelow(below)];
}

/**
 * `onlyConverted` matches only requests that the API server has converted. Requests sent in the target version are
 * evaluated by the webhook without conversion.
 */
export function onlyConverted(targets: readonly Target[]): MatchCondition[] {
  const names = new Map<string, Set<string>>();
  for (const { group, version, resource } of targets) {
    const [name = '', below = ''] = resource.split('/');
    const expression = `request.resource.group == '${group}' && request.resource.version == '${version}' && ${isBelow(below)}`;
    names.set(expression, (names.get(expression) ?? new Set()).add(name));
  }
  return noneOf('only-converted', termsNaming(names));
}

/** Groups resource names by their remaining expression. */
const termsNaming = (names: ReadonlyMap<string, ReadonlySet<string>>): string[] =>
  [...names]
    .map(([expression, of]) =>
      of.has('*') ? `(${expression})` : `(request.resource.resource in ${listed([...of].sort())} && ${expression})`,
    )
    .sort();

function isOf(group: string, resource: string): string {
  const parts = [
    ...(group === '*' ? [] : [`request.resource.group == '${group}'`]),
    ...(resource === '*' ? [] : [`request.resource.resource == '${resource}'`]),
  ];
  return parts.length === 0 ? 'true' : `(${parts.join(' && ')})`;
}

/** The API server omits empty fields from `request`, and reading an absent field is an error. */
const noSubresource = '!has(request.subResource)';

const isBelow = (subresource: string): string =>
  subresource === '' ? noSubresource : `(has(request.subResource) && request.subResource == '${subresource}')`;

const outside = (namespaces: readonly string[]): string =>
  `!(has(request.namespace) && request.namespace in ${listed(namespaces)})`;

const listed = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(', ')}]`;
