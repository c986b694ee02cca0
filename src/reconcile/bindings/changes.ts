/** Predicates: the changes of users, namespaces and sources that can affect a binding. */
import { isDeepStrictEqual } from 'node:util';
import { TEAM_LABEL } from '../../api/index.ts';
import type { Predicate } from '../../runtime/index.ts';
import type { OwnedObject } from '../platform/ownership.ts';
import { conditionOf } from '../platform/status.ts';
import { dependenciesOf, matchesDependency, type TeamOfNamespace } from './visible.ts';

/** `isAffected` reports whether a change of the source can affect this user. */
export function isAffected(user: OwnedObject, source: OwnedObject, teamOfNamespace: TeamOfNamespace): boolean {
  const bound = user.status?.bindings?.some(
    ({ kind, namespace, name }) =>
      kind === source.kind && namespace === source.metadata.namespace && name === source.metadata.name,
  );
  if (bound === true) return true;
  const { deletionTimestamp: _, ...metadata } = source.metadata;
  return dependenciesOf(user).some((dependency) =>
    matchesDependency(user, dependency, { ...source, metadata }, teamOfNamespace),
  );
}

export const usesSomething: Predicate<OwnedObject> = (change) => {
  const concerns = (object: OwnedObject) =>
    dependenciesOf(object).length > 0 ||
    object.status?.bindings !== undefined ||
    conditionOf(object, 'DependenciesBound') !== undefined;
  if (!concerns(change.object) && !(change.type === 'updated' && concerns(change.old))) return false;
  if (change.type !== 'updated') return true;
  const [now, before] = [change.object, change.old];
  return (
    now.metadata.generation !== before.metadata.generation ||
    now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp ||
    now.metadata.labels?.[TEAM_LABEL] !== before.metadata.labels?.[TEAM_LABEL] ||
    // Another writer may have overwritten our fields.
    !isDeepStrictEqual(now.status?.bindings, before.status?.bindings) ||
    !isDeepStrictEqual(conditionOf(now, 'DependenciesBound'), conditionOf(before, 'DependenciesBound'))
  );
};

/** Passes the changes of a source that its users depend on. */
export const sourceChanged: Predicate<OwnedObject> = (change) => {
  if (change.type !== 'updated') return true;
  const [now, before] = [change.object, change.old];
  const facts = ({ metadata, spec, status }: OwnedObject) => [
    metadata.labels,
    metadata.deletionTimestamp,
    spec.sharedWith,
    status?.phase,
    status?.connectionSecret,
    status?.outputs,
    status?.url,
  ];
  return !isDeepStrictEqual(facts(now), facts(before));
};
