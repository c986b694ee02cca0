/**
 * Which Team a namespace belongs to.
 *
 * This is the single place that decides it. A namespace belongs to the Team whose `spec.namespace` names it; labels and
 * annotations of the Namespace never decide, because whoever may create namespaces can write them. Only platform
 * administrators write Teams.
 */
import type { Team } from './team.ts';

/** `teamOfNamespace` returns the Team of a namespace: the oldest that names it; of the same second, the first by name. */
export function teamOfNamespace<T extends NamedTeam>(namespace: string, teams: Iterable<T>): T | undefined {
  let oldest: T | undefined;
  for (const team of teams) {
    if (team.spec.namespace === namespace && (oldest === undefined || ageOf(team) < ageOf(oldest))) oldest = team;
  }
  return oldest;
}

type NamedTeam = Pick<Team, 'metadata'> & { readonly spec: Pick<Team['spec'], 'namespace'> };

const ageOf = ({ metadata }: NamedTeam): string => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
