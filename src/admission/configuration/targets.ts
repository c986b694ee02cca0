/** What policies are about, one operation on one resource at a time: what the rules of webhooks are made of. */
import { GROUP, kinds } from '../../api/index.ts';
import type { ScopeEntry } from '../../policy/internal.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';
import type { FailurePolicy } from './types.ts';

/** One operation on one resource, or on all that a `*` stands for. */
export interface Target {
  readonly group: string;
  readonly version: string;
  /** With its subresource: `pods`, `pods/exec`, `*`, all with their subresources. */
  readonly resource: string;
  readonly operation: string;
  readonly failurePolicy: FailurePolicy;
  readonly systemNamespaces: boolean;
  /** Leaves out what happens every second. */
  readonly sparing: boolean;
}

/** None where the cluster does not serve it (yet); `resolved` tells that apart from what another webhook is asked about. */
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
export const ownPlurals: readonly string[] = kinds.map(({ plural }) => plural);

/** Whether all that one is about is what the other is about. */
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

/** Whether there may be something that both are about, the version aside: the API server converts. */
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

/** `*` is any resource itself, `*` behind a slash any subresource, both of them everything. */
export function standsFor(pattern: string, resource: string): boolean {
  if (pattern === resource || pattern === '*/*') return true;
  const [name, below] = resource.split('/');
  if (below === undefined) return pattern === '*';
  return pattern === `${name}/*` || pattern === `*/${below}`;
}
