/** The targets of policies: one operation on one resource each. Webhook rules are built from them. */
import { broker, deploymentTarget, GROUP, kinds } from '../../api/index.ts';
import type { ScopeEntry } from '../../policy/internal.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';
import type { FailurePolicy } from './types.ts';

/** One operation on one resource, or on all resources that a wildcard matches. */
export interface Target {
  readonly group: string;
  readonly version: string;
  /** The resource with its subresource: `pods`, `pods/exec`, or a wildcard for either part. */
  readonly resource: string;
  readonly operation: string;
  readonly failurePolicy: FailurePolicy;
  readonly systemNamespaces: boolean;
  /** Whether the wildcard excludes high-frequency writes. */
  readonly sparing: boolean;
}

/**
 * `targetsOf` lists the targets of a scope entry. `resolved` is false if the cluster does not serve the resource (yet);
 * targets may also be empty because another webhook receives them.
 */
export function targetsOf(
  entry: ScopeEntry,
  mapping: ResourceMapping,
): { readonly resolved: boolean; readonly targets: readonly Target[] } {
  const { failurePolicy, systemNamespaces, sparing } = entry;
  const types = typesOf(entry, mapping);
  const targets = types.flatMap(({ group, version, resources }) =>
    resources.flatMap((resource) =>
      entry.operations
        .filter((operation) => entry.reinvocation === 'Never' || !isPlatformsOwn(group, resource, operation))
        .map((operation) => ({ group, version, resource, operation, failurePolicy, systemNamespaces, sparing })),
    ),
  );
  return { resolved: types.length > 0, targets };
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
    // A wildcard is kept, so that later versions match too.
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
 * Reports whether the webhook for platform kinds receives the request; it evaluates all policies too. Mutations that
 * must run only once cannot be evaluated there, because that webhook is reinvoked after every change of the object.
 */
const isPlatformsOwn = (group: string, resource: string, operation: string): boolean =>
  group === GROUP &&
  ((ownPlurals.includes(resource) && (operation === 'CREATE' || operation === 'UPDATE')) ||
    (keptWhileUsed.includes(resource) && operation === 'DELETE'));

/** The plurals of the kinds whose deletion the in-use gate checks. */
export const keptWhileUsed: readonly string[] = [broker.plural, deploymentTarget.plural];

/** The plurals of the platform kinds. Other kinds in the same group are not sent to the webhook for platform kinds. */
export const ownPlurals: readonly string[] = kinds.map(({ plural }) => plural);

/** `covers` reports whether `wide` includes every request of `narrow`. */
export function covers(wide: Target, narrow: Target): boolean {
  return (
    wide.operation === narrow.operation &&
    (wide.group === '*' || wide.group === narrow.group) &&
    (wide.version === '*' || wide.version === narrow.version) &&
    standsFor(wide.resource, narrow.resource) &&
    (wide.systemNamespaces || !narrow.systemNamespaces) &&
    (!wide.sparing || narrow.sparing)
  );
}

/** `overlap` reports whether a request may belong to both targets, whatever the version: the API server converts. */
export function overlap(one: Target, other: Target): boolean {
  const [name = '', below] = one.resource.split('/');
  const [otherName = '', otherBelow] = other.resource.split('/');
  const meet = (a: string | undefined, b: string | undefined) =>
    a === b || (a === '*' && b !== undefined) || (b === '*' && a !== undefined);
  return (
    one.operation === other.operation &&
    meet(one.group, other.group) &&
    meet(name, otherName) &&
    (meet(below, otherBelow) || one.resource === '*/*' || other.resource === '*/*')
  );
}

/**
 * `standsFor` reports whether a pattern matches a resource: `*` matches resources, `*` after a slash matches subresources,
 * and both together match everything.
 */
export function standsFor(pattern: string, resource: string): boolean {
  if (pattern === resource || pattern === '*/*') return true;
  const [name, below] = resource.split('/');
  if (below === undefined) return pattern === '*';
  return pattern === `${name}/*` || pattern === `*/${below}`;
}
