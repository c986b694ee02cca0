/**
 * Visibility: which resources the selectors of an object may match.
 *
 * Credentials follow a binding, so this is a border between teams. Only the namespace and the Team that names it decide;
 * labels of objects and Namespaces never do.
 */
import type { Team } from '../../api/index.ts';
import { selects } from '../../policy/internal.ts';
import type { DependencySelector, OwnedObject } from '../platform/ownership.ts';

export type SourceKind = 'Database' | 'Cache' | 'Topic' | 'Service' | 'Secret';

/** The fields of `spec.dependencies`, and the kind that each selects. */
export const selectorKinds: Readonly<Record<string, SourceKind>> = {
  databaseSelector: 'Database',
  cacheSelector: 'Cache',
  topicSelector: 'Topic',
  serviceSelector: 'Service',
  secretSelector: 'Secret',
};

export interface Dependency {
  readonly field: string;
  readonly kind: SourceKind;
  readonly selector: DependencySelector;
}

/** `dependenciesOf` lists the dependencies of an object. */
export function dependenciesOf({ spec }: OwnedObject): Dependency[] {
  return Object.entries(selectorKinds).flatMap(([field, kind]) => {
    const selector = spec.dependencies?.[field];
    return selector === undefined ? [] : [{ field, kind, selector }];
  });
}

/** The Team that a namespace belongs to; undefined if it belongs to none. */
export type TeamOfNamespace = (namespace: string) => Pick<Team, 'metadata' | 'spec'> | undefined;

/**
 * How a source matches: it is of the `own` team, or it is `foreign`: shared by a team that the selector names.
 * `unasked` sources are shared by a team that the selector does not name, and are not used.
 */
export type Match = 'own' | 'foreign' | 'unasked';

/** `matchOf` returns undefined if the labels do not match, or the source is not visible or being deleted. */
export function matchOf(
  user: OwnedObject,
  { kind, selector }: Dependency,
  source: OwnedObject,
  teamOfNamespace: TeamOfNamespace,
): Match | undefined {
  return source.kind === kind &&
    source.metadata.deletionTimestamp === undefined &&
    !isItself(user, source) &&
    selects(selector, source.metadata.labels ?? {})
    ? relationOf(user, selector, source, teamOfNamespace)
    : undefined;
}

/** `matchesDependency` reports whether a dependency uses the source. */
export function matchesDependency(...facts: Parameters<typeof matchOf>): boolean {
  const match = matchOf(...facts);
  return match === 'own' || match === 'foreign';
}

/** Both sides must agree: the source is shared with the user's team, and the user names the source's team. */
function relationOf(
  user: OwnedObject,
  { fromTeams = [] }: DependencySelector,
  { metadata, spec: { sharedWith = [] } }: OwnedObject,
  teamOfNamespace: TeamOfNamespace,
): Match | undefined {
  const [here = '', there = ''] = [user.metadata.namespace, metadata.namespace];
  if (here === there) return 'own';
  const [home, theirs] = [teamOfNamespace(here), teamOfNamespace(there)];
  if (home === undefined || theirs === undefined) return undefined;
  if (home.metadata.name === theirs.metadata.name) return 'own';
  if (!sharedWith.includes('*') && !sharedWith.includes(home.spec.namespace)) return undefined;
  return fromTeams.includes(theirs.metadata.name) ? 'foreign' : 'unasked';
}

const isItself = (user: OwnedObject, source: OwnedObject): boolean =>
  user.kind === source.kind &&
  user.metadata.namespace === source.metadata.namespace &&
  user.metadata.name === source.metadata.name;
