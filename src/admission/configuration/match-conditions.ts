/** What the rules of a webhook cannot say, as conditions in CEL that the API server evaluates before it asks. */

import { GROUP } from '../../api/index.ts';
import { overlap, ownPlurals, type Target } from './targets.ts';
import type { MatchCondition } from './types.ts';

const eventGroups: readonly string[] = ['', 'events.k8s.io'];

/** Events of either group are converted to those of the other, and conditions see the group that they were sent in. */
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

/** Whether a `*` leaves it out. */
export const isNoise = ({ group, resource }: Pick<Target, 'group' | 'resource'>): boolean =>
  noise.some((each) => each.group === group && (each.resource === '*' || each.resource === resource.split('/')[0]));

/** A `*` leaves out what happens every second, and who may do what; unless a policy asks for just that. */
export function withoutNoise(targets: readonly Target[], exempt: readonly string[]): MatchCondition[] {
  if (!targets.some(({ sparing }) => sparing)) return [];
  const meant = targets.filter((target) => !target.sparing && noise.some((each) => mayMean(target, each)));
  return [{ name: 'no-noise', expression: [notNoise(), ...termsOf(meant, exempt)].join(' || ') }];
}

const mayMean = (target: Target, { group, resource }: (typeof noise)[number]): boolean =>
  (target.group === '*' || target.group === group) &&
  (resource === '*' || target.resource.includes('*') || target.resource.split('/')[0] === resource);

const notNoise = (): string => `!(${noise.map(({ group, resource }) => isOf(group, resource)).join(' || ')})`;

/** The platform's own kinds have a webhook of their own (targets.ts); the other half of that, for rules that say `*`. */
export function withoutPlatform(targets: readonly Target[]): MatchCondition[] {
  const isOpen = ({ group, resource }: Target) => group === '*' || (group === GROUP && resource.startsWith('*'));
  if (!targets.some(isOpen)) return [];
  const own = `request.resource.group == '${GROUP}' && request.resource.resource in ${listed(ownPlurals)} && ${noSubresource} && request.operation in ['CREATE', 'UPDATE']`;
  return [{ name: 'not-the-platforms-own', expression: `!(${own})` }];
}

/** Where only some policies are about kube-system and our own namespace, only what they are about is sent from there. */
export function withoutSystem(targets: readonly Target[], exempt: readonly string[]): MatchCondition[] {
  const reaching = targets.filter(({ systemNamespaces }) => systemNamespaces);
  if (reaching.length === 0 || reaching.length === targets.length) return [];
  const terms = termsOf(reaching, exempt);
  return [{ name: 'system-namespaces', expression: [outside(exempt), ...terms].join(' || ') }];
}

/** Where a rule says `*`, what it stands for may be sent to the other webhook already, which judges by all policies. */
export function withoutAsked(
  targets: readonly Target[],
  asked: readonly Target[],
  exempt: readonly string[],
): MatchCondition[] {
  const both = asked.filter((each) => targets.some((target) => overlap(target, each)));
  if (both.length === 0) return [];
  return noneOf('not-asked-already', termsOf(both, exempt));
}

/** An API server takes up to 64 conditions, and none that is longer than 100,000 characters. */
const longestExpression = 20_000;

/** As many conditions as it takes: all of them must hold. */
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

/** What targets are about, the version aside, as few terms as say it: each holds for the requests of some of them. */
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

/** Only what the API server has converted: what was sent in that version is judged where nothing is converted. */
export function onlyConverted(targets: readonly Target[]): MatchCondition[] {
  const names = new Map<string, Set<string>>();
  for (const { group, version, resource } of targets) {
    const [name = '', below = ''] = resource.split('/');
    const expression = `request.resource.group == '${group}' && request.resource.version == '${version}' && ${isBelow(below)}`;
    names.set(expression, (names.get(expression) ?? new Set()).add(name));
  }
  return noneOf('only-converted', termsNaming(names));
}

/** By what else is asked of them: the names of resources. */
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

/** What is empty is not there: the API server leaves it out of `request`, and to read it is an error. */
const noSubresource = '!has(request.subResource)';

const isBelow = (subresource: string): string =>
  subresource === '' ? noSubresource : `(has(request.subResource) && request.subResource == '${subresource}')`;

const outside = (namespaces: readonly string[]): string =>
  `!(has(request.namespace) && request.namespace in ${listed(namespaces)})`;

const listed = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(', ')}]`;
