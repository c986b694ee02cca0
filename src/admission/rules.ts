/**
 * From what policies match to what the API server must ask us about: the rules and conditions of the two webhooks for Policies.
 *
 * A request goes to one of them only, and whichever is asked judges by all policies: to `fail` where some policy that fails closed
 * is about it, for then it is refused while we are away whatever the others say, else to `ignore`. The API server shows the answer
 * of one webhook: so a denial lists every violation. The platform's own kinds go to a webhook of the platform (configuration.ts).
 */
import { GROUP, kinds } from '../api/index.ts';
import type { ScopeEntry } from '../policy/index.ts';
import type { ResourceMapping } from '../runtime/index.ts';
import type { FailurePolicy } from './configuration.ts';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
  readonly scope: '*';
}

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

export interface WebhookScope {
  readonly rules: readonly Rule[];
  readonly matchConditions: readonly MatchCondition[];
  /** Namespaces that no request of theirs is sent from; a request without a namespace is. */
  readonly exemptNamespaces: readonly string[];
}

export interface PolicyRules {
  readonly scopes: Readonly<Record<FailurePolicy, WebhookScope | undefined>>;
  /** What the cluster does not serve (yet). */
  readonly unresolved: readonly ScopeEntry[];
}

export interface RulesQuestion {
  readonly scope: readonly ScopeEntry[];
  readonly phase: 'mutate' | 'validate';
  /** Of mutations, only those that want to be asked again, or that do not; left out, all. */
  readonly reinvocation?: 'Never' | 'IfNeeded';
  readonly mapping: ResourceMapping;
  readonly platformNamespace: string;
}

export function rulesFor(question: RulesQuestion): PolicyRules {
  const { scope, phase, reinvocation, mapping, platformNamespace } = question;
  const unresolved: ScopeEntry[] = [];
  const all = scope
    .filter((entry) => entry.phase === phase && (reinvocation === undefined || entry.reinvocation === reinvocation))
    .flatMap((entry) => {
      const types = typesOf(entry, mapping);
      if (types.length === 0) unresolved.push(entry);
      return targetsOf(entry, types);
    });
  const closed = all.filter(({ failurePolicy }) => failurePolicy === 'Fail');
  const open = all.filter(
    (target) => target.failurePolicy === 'Ignore' && !closed.some((each) => covers(each, target)),
  );
  const exempt = ['kube-system', platformNamespace];
  const asked = (targets: readonly Target[]) => scopeOf(targets, exempt, reinvocation !== 'Never');
  return { scopes: { Fail: asked(closed), Ignore: asked(open) }, unresolved };
}

/** One operation on one resource, or on all that a `*` stands for. */
interface Target {
  readonly group: string;
  readonly version: string;
  /** With its subresource: `pods`, `pods/exec`, `*`, all with their subresources. */
  readonly resource: string;
  readonly operation: string;
  readonly failurePolicy: FailurePolicy;
  readonly systemNamespaces: boolean;
  readonly sparing: boolean;
}

function targetsOf(entry: ScopeEntry, types: ReturnType<typeof typesOf>): Target[] {
  const { failurePolicy, systemNamespaces, sparing } = entry;
  return types.flatMap(({ group, version, resources }) =>
    resources.flatMap((resource) =>
      entry.operations
        .filter((operation) => entry.reinvocation === 'Never' || !isPlatformsOwn(group, resource, operation))
        .map((operation) => ({ group, version, resource, operation, failurePolicy, systemNamespaces, sparing })),
    ),
  );
}

function typesOf(entry: ScopeEntry, mapping: ResourceMapping) {
  const { group, version, kind, resource, subresource } = entry;
  const isAny = (resource ?? kind ?? '*') === '*';
  const isOpen = (text: string) => text !== '*' && /[*?]/.test(text);
  if (isAny && !isOpen(group) && !isOpen(version)) return [{ group, version, resources: paths('*', subresource) }];
  const served = mapping.resources.filter(
    (each) =>
      fits(group, each.group) &&
      fits(version, each.version) &&
      (resource === undefined ? fits(kind ?? '*', each.kind) : fits(resource, each.plural)),
  );
  return served.map((each) => ({
    group: each.group,
    // As it is written, so that a version which comes later is asked about too.
    version: version === '*' ? '*' : each.version,
    resources: paths(each.plural, subresource),
  }));
}

const paths = (plural: string, subresource: string | undefined): string[] => {
  if (subresource === undefined) return [plural];
  return subresource === '*' ? [plural, `${plural}/*`] : [`${plural}/${subresource}`];
};

function fits(pattern: string, text: string): boolean {
  if (pattern === '*' || pattern === text) return true;
  if (!/[*?]/.test(pattern)) return false;
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`).test(text);
}

/**
 * Creating and changing the platform's own kinds is sent to a webhook of its own, which judges by all policies too. Only mutations
 * that may not be asked twice cannot go there: it is asked again whenever somebody has changed the object.
 */
const isPlatformsOwn = (group: string, resource: string, operation: string): boolean =>
  group === GROUP && ownPlurals.includes(resource) && (operation === 'CREATE' || operation === 'UPDATE');

/** Others may define kinds in our group; those are not sent to the webhook of the platform. */
const ownPlurals: readonly string[] = kinds.map(({ plural }) => plural);

function covers(wide: Target, narrow: Target): boolean {
  return (
    wide.operation === narrow.operation &&
    (wide.group === '*' || wide.group === narrow.group) &&
    (wide.version === '*' || wide.version === narrow.version) &&
    (wide.resource === narrow.resource || (wide.resource === '*' && !narrow.resource.includes('/'))) &&
    (wide.systemNamespaces || !narrow.systemNamespaces) &&
    (!wide.sparing || narrow.sparing)
  );
}

function scopeOf(
  targets: readonly Target[],
  exempt: readonly string[],
  sparesPlatform: boolean,
): WebhookScope | undefined {
  if (targets.length === 0) return undefined;
  const reaching = targets.filter(({ systemNamespaces }) => systemNamespaces);
  return {
    rules: merged(targets),
    matchConditions: [
      ...withoutNoise(targets),
      ...(sparesPlatform ? withoutPlatform(targets) : []),
      ...withoutSystem(targets, reaching, exempt),
    ],
    exemptNamespaces: reaching.length === 0 ? exempt : [],
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

/** `*` is any resource itself, `*` behind a slash any subresource, both of them everything. */
function standsFor(pattern: string, resource: string): boolean {
  const [name, below] = resource.split('/');
  if (pattern === '*/*') return true;
  if (below === undefined) return pattern === '*';
  return pattern === `${name}/*` || pattern === `*/${below}`;
}

const noise: readonly { readonly group: string; readonly resource: string }[] = [
  { group: '', resource: 'events' },
  { group: 'events.k8s.io', resource: 'events' },
  { group: 'coordination.k8s.io', resource: 'leases' },
  { group: 'authorization.k8s.io', resource: '*' },
  { group: 'authentication.k8s.io', resource: '*' },
];

/** A `*` leaves out what happens every second, and who may do what; unless a policy asks for just that. */
function withoutNoise(targets: readonly Target[]): MatchCondition[] {
  if (!targets.some(({ sparing }) => sparing)) return [];
  const meant = targets.filter(({ sparing }) => !sparing);
  const left = noise.filter((each) => !meant.some((target) => mayMean(target, each)));
  if (left.length === 0) return [];
  const each = left.map(({ group, resource }) => isOf(group, resource)).join(' || ');
  return [{ name: 'no-noise', expression: `!(${each})` }];
}

const mayMean = (target: Target, { group, resource }: (typeof noise)[number]): boolean =>
  (target.group === '*' || target.group === group) &&
  (resource === '*' || target.resource === resource || target.resource === '*');

/** The other half of `isPlatformsOwn`, for rules that say `*`. */
function withoutPlatform(targets: readonly Target[]): MatchCondition[] {
  const isOpen = ({ group, resource }: Target) => group === '*' || (group === GROUP && resource.startsWith('*'));
  if (!targets.some(isOpen)) return [];
  const plurals = ownPlurals.map((plural) => `'${plural}'`).join(', ');
  const own = `request.resource.group == '${GROUP}' && request.resource.resource in [${plurals}] && request.subResource == '' && request.operation in ['CREATE', 'UPDATE']`;
  return [{ name: 'not-the-platforms-own', expression: `!(${own})` }];
}

/** Where only some policies are about kube-system and our own namespace, only their types are sent from there. */
function withoutSystem(
  targets: readonly Target[],
  reaching: readonly Target[],
  exempt: readonly string[],
): MatchCondition[] {
  if (reaching.length === 0 || reaching.length === targets.length) return [];
  const outside = `!(request.namespace in [${exempt.map((name) => `'${name}'`).join(', ')}])`;
  const types = new Set(reaching.map(({ group, resource }) => isOf(group, resource.split('/')[0] ?? resource)));
  if (types.has('true')) return [];
  return [{ name: 'system-namespaces', expression: [outside, ...types].join(' || ') }];
}

function isOf(group: string, resource: string): string {
  const parts = [
    ...(group === '*' ? [] : [`request.resource.group == '${group}'`]),
    ...(resource === '*' ? [] : [`request.resource.resource == '${resource}'`]),
  ];
  return parts.length === 0 ? 'true' : `(${parts.join(' && ')})`;
}
