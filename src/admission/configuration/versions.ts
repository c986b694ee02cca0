/**
 * Handles policies that name different versions of the same resource.
 *
 * An API server sends a request to each webhook once, in one version: as it was sent if a rule names that version, else
 * converted to a version that a rule names. A webhook whose rules name `autoscaling/v2` and `*` therefore never
 * receives a v1 request as v2, and a policy on v2 would miss it.
 *
 * In such cases a request is sent as it is, in any version, and additionally converted, once for each version that a
 * policy names. A policy that matches the request as it was sent is evaluated there; every other policy where the
 * request is first converted to a version that it names (applicable-policies.ts).
 */
import type { ResourceMapping, ServedResource } from '../../runtime/internal.ts';
import { isNoise } from './match-conditions.ts';
import { standsFor, type Target } from './targets.ts';

interface Layer {
  /** The versions that precede this one, for example `v1.autoscaling`. Undefined for requests as they are sent. */
  readonly converted: readonly string[] | undefined;
  readonly targets: readonly Target[];
}

export function layersOf(targets: readonly Target[], mapping: ResourceMapping): Layer[] {
  const families = splitFamilies(targets, mapping);
  const asSent = [...targets.filter((target) => !isOfFamily(target, families)), ...families.flatMap(inAnyVersion)];
  const converted = new Map<string, { before: readonly string[]; targets: Target[] }>();
  for (const { named } of families) {
    const versions = [...named.keys()].sort();
    for (const [index, version] of versions.entries()) {
      const before = versions.slice(0, index);
      const layer = converted.get(before.join()) ?? { before, targets: [] };
      layer.targets.push(...(named.get(version) ?? []));
      converted.set(before.join(), layer);
    }
  }
  const further = [...converted.values()].sort((one, other) => (one.before.join() < other.before.join() ? -1 : 1));
  return [
    { converted: undefined, targets: asSent },
    ...further.map(({ before, targets: each }) => ({ converted: before, targets: each })),
  ];
}

/** A resource or subresource in all groups and versions that serve it. */
interface Family {
  readonly resource: string;
  readonly served: readonly ServedResource[];
  /** The targets that name a specific version, by `version.group`. */
  readonly named: ReadonlyMap<string, readonly Target[]>;
}

/**
 * Finds the resources that policies name in several versions, or in one version while other policies use a wildcard.
 */
function splitFamilies(targets: readonly Target[], mapping: ResourceMapping): Family[] {
  const exact = targets.filter(({ version }) => version !== '*');
  if (exact.length === 0) return [];
  const families = new Map<string, { resource: string; served: ServedResource[]; named: Map<string, Target[]> }>();
  for (const served of mapping.resources) {
    for (const resource of resourcesOf(served)) {
      const id = `${homeOf(served)} ${resource}`;
      const family = families.get(id) ?? {
        resource,
        served: [] as ServedResource[],
        named: new Map<string, Target[]>(),
      };
      families.set(id, family);
      family.served.push(served);
      const named = exact.flatMap((target) => narrowed(target, served, resource));
      if (named.length > 0) family.named.set(versionText(served), named);
    }
  }
  // A rule applies to what it names, even if a condition excludes it.
  const taken = ({ resource, served }: Family) =>
    served.filter((one) => targets.some((target) => isSaid(target, one, resource)));
  return [...families.values()].filter(
    (family) => family.served.length > 1 && family.named.size > 0 && taken(family).length > 1,
  );
}

/** `withoutStars` expands a resource wildcard for one version into the resources that the cluster serves in it. */
export function withoutStars(target: Target, mapping: ResourceMapping): readonly Target[] {
  if (target.version === '*' || !target.resource.includes('*')) return [target];
  return mapping.resources.flatMap((served) =>
    resourcesOf(served).flatMap((resource) => narrowed(target, served, resource)),
  );
}

const resourcesOf = ({ plural, subresources }: ServedResource): string[] => [
  plural,
  ...subresources.map((below) => `${plural}/${below}`),
];

/** Narrows a target to one resource and version. The result is empty if it does not match. */
function narrowed(target: Target, { group, version }: ServedResource, resource: string): Target[] {
  if (!isSaid(target, { group, version }, resource) || (target.sparing && isNoise({ group, resource }))) return [];
  return [{ ...target, group, version, resource, sparing: false }];
}

const isSaid = (target: Target, served: Pick<ServedResource, 'group' | 'version'>, resource: string): boolean =>
  (target.group === '*' || target.group === served.group) &&
  (target.version === '*' || target.version === served.version) &&
  standsFor(target.resource, resource);

const versionText = ({ group, version }: ServedResource): string => (group === '' ? version : `${version}.${group}`);

/** Events are the same objects in two groups; all other resources belong to one group. */
const homeOf = ({ group, plural }: ServedResource): string =>
  group === 'events.k8s.io' && plural === 'events' ? '' : group;

/** Reports whether a target names only a resource of these families; a wildcard includes others. */
const isOfFamily = (target: Target, families: readonly Family[]): boolean =>
  families.some(
    ({ resource, served }) =>
      target.resource === resource && served.some(({ group }) => group === target.group) && target.version !== '*',
  );

/** Returns the targets for the request as it is sent, in any group and version. */
function inAnyVersion({ served, named }: Family): Target[] {
  const groups = [...new Set(served.map(({ group }) => group))];
  return [...named.values()].flat().flatMap((target) => groups.map((group) => ({ ...target, group, version: '*' })));
}
