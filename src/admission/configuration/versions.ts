/**
 * Policies that name different versions of the same resource. An API server sends each webhook a request once, in one version: as
 * it was sent where a rule has that version, else converted to one that a rule has. So a webhook whose rules say `autoscaling/v2` and
 * `*` is never sent a request of v1 as v2, and a policy on v2 would miss it.
 *
 * Where policies differ in this way, a request is sent as it is, whatever its version, and besides, converted, once for each
 * version that a policy names. A policy that is about it as it was sent is judged by there; each other one where it is first
 * converted to what that policy names (setFor, which leaves out who is judged elsewhere).
 */
import type { ResourceMapping, ServedResource } from '../../runtime/internal.ts';
import { isNoise } from './match-conditions.ts';
import { standsFor, type Target } from './targets.ts';

interface Layer {
  /** The versions before this one, as `v1.autoscaling`; undefined: requests as they are sent. */
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

/** One resource, or subresource, in all the versions and groups that it is served in. */
interface Family {
  readonly resource: string;
  readonly served: readonly ServedResource[];
  /** By `version.group`: what policies say of just that version. */
  readonly named: ReadonlyMap<string, readonly Target[]>;
}

/** Those that policies name in several versions, or in one while others say any. */
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
  // A rule takes what it says, also where a condition then leaves it out.
  const taken = ({ resource, served }: Family) =>
    served.filter((one) => targets.some((target) => isSaid(target, one, resource)));
  return [...families.values()].filter(
    (family) => family.served.length > 1 && family.named.size > 0 && taken(family).length > 1,
  );
}

/** What says `*` for resources of one version, as the resources that the cluster serves in that version. */
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

/** What a target says of one resource in one version; none where it is not about it. */
function narrowed(target: Target, { group, version }: ServedResource, resource: string): Target[] {
  if (!isSaid(target, { group, version }, resource) || (target.sparing && isNoise({ group, resource }))) return [];
  return [{ ...target, group, version, resource, sparing: false }];
}

const isSaid = (target: Target, served: Pick<ServedResource, 'group' | 'version'>, resource: string): boolean =>
  (target.group === '*' || target.group === served.group) &&
  (target.version === '*' || target.version === served.version) &&
  standsFor(target.resource, resource);

const versionText = ({ group, version }: ServedResource): string => (group === '' ? version : `${version}.${group}`);

/** Events are the same objects in two groups; of all others each group has its own. */
const homeOf = ({ group, plural }: ServedResource): string =>
  group === 'events.k8s.io' && plural === 'events' ? '' : group;

/** Whether it is about one of them and nothing else; what says `*` is about others too. */
const isOfFamily = (target: Target, families: readonly Family[]): boolean =>
  families.some(
    ({ resource, served }) =>
      target.resource === resource && served.some(({ group }) => group === target.group) && target.version !== '*',
  );

/** As it is sent, in whichever group and version. */
function inAnyVersion({ served, named }: Family): Target[] {
  const groups = [...new Set(served.map(({ group }) => group))];
  return [...named.values()].flat().flatMap((target) => groups.map((group) => ({ ...target, group, version: '*' })));
}
