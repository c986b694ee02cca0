/**
 * Visibility: which resources the selectors of an object may match.
 *
 * Credentials follow a binding, so this is a border between teams. Only the namespace and its team label decide, which
 * only the platform and its administrators write; labels of the objects never do.
 */
import { TEAM_LABEL } from '../../api/index.ts';
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

/** The team of a namespace, from the label that the platform sets; undefined if it belongs to no team. */
export type TeamOfNamespace = (namespace: string) => string | undefined;

/**
 * `matchesDependency` reports whether the labels match and the source is visible. Sources that are being deleted never
 * match.
 */
export function matchesDependency(
  user: OwnedObject,
  { kind, selector }: Dependency,
  source: OwnedObject,
  teamOfNamespace: TeamOfNamespace,
): boolean {
  return (
    source.kind === kind &&
    source.metadata.deletionTimestamp === undefined &&
    !isItself(user, source) &&
    selects(selector, source.metadata.labels ?? {}) &&
    isVisible(user, source, teamOfNamespace)
  );
}

export function isVisible(user: OwnedObject, source: OwnedObject, teamOfNamespace: TeamOfNamespace): boolean {
  const [here = '', there = ''] = [user.metadata.namespace, source.metadata.namespace];
  const home = teamOfNamespace(here);
  if (here === there) return home !== undefined || !areOfTwoTeams(user, source) || isSharedWith(source, here, home);
  if (home !== undefined && home === teamOfNamespace(there)) return true;
  return isSharedWith(source, here, home);
}

function isSharedWith({ spec }: OwnedObject, namespace: string, home: string | undefined): boolean {
  const shared = spec.sharedWith ?? [];
  return (
    shared.includes(namespace) ||
    (home !== undefined && shared.includes(home)) ||
    (home !== undefined && shared.includes('*'))
  );
}

/** In a namespace without a team, objects can have different owners. */
function areOfTwoTeams(user: OwnedObject, source: OwnedObject): boolean {
  const [one, other] = [user.metadata.labels?.[TEAM_LABEL], source.metadata.labels?.[TEAM_LABEL]];
  return one !== undefined && other !== undefined && one !== other;
}

const isItself = (user: OwnedObject, source: OwnedObject): boolean =>
  user.kind === source.kind &&
  user.metadata.namespace === source.metadata.namespace &&
  user.metadata.name === source.metadata.name;
