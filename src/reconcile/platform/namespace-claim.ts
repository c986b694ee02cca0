/** Which Team has a namespace, and which namespaces no Team gets. */
import { TEAM_LABEL, type Team } from '../../api/index.ts';
import type { KubernetesObject } from '../../runtime/index.ts';

/** Why a Team does not get its namespace, with what to do. */
export interface Refusal {
  readonly reason: 'NamespaceTaken' | 'NamespaceReserved' | 'NamespaceOfAnotherTeam' | 'NamespaceTerminating';
  readonly message: string;
}

interface Claim {
  readonly team: Team;
  /** All Teams that name this namespace, this one among them. */
  readonly claimants: readonly Team[];
  /** As it is now, if it is. */
  readonly namespace: KubernetesObject | undefined;
  readonly platformNamespace: string;
}

/** Undefined: it is this Team's to have. */
export function refusalOf({ team, claimants, namespace, platformNamespace }: Claim): Refusal | undefined {
  const name = team.spec.namespace;
  if (isReserved(name, platformNamespace)) {
    return {
      reason: 'NamespaceReserved',
      message: `Namespace ${name} belongs to the cluster or the platform: create the Team anew with another spec.namespace`,
    };
  }
  const holder = holderOf(claimants) ?? team;
  if (holder.metadata.uid !== team.metadata.uid) {
    return {
      reason: 'NamespaceTaken',
      message: `Namespace ${name} is of Team ${holder.metadata.name}, which is older: create this Team anew with another spec.namespace, or delete the other one`,
    };
  }
  const label = namespace?.metadata.labels?.[TEAM_LABEL];
  if (label !== undefined && label !== name) {
    return {
      reason: 'NamespaceOfAnotherTeam',
      message: `Namespace ${name} carries the label ${TEAM_LABEL}: ${label}, so it is another team's: take the label off it if it is not, or create the Team anew with another spec.namespace`,
    };
  }
  if (namespace?.metadata.deletionTimestamp !== undefined) {
    return {
      reason: 'NamespaceTerminating',
      message: `Namespace ${name} is being deleted: it is created anew once it is gone`,
    };
  }
  return undefined;
}

/** The oldest; of two of the same second the first by name. */
function holderOf(claimants: readonly Team[]): Team | undefined {
  return [...claimants].sort((one, other) => compare(ageOf(one), ageOf(other)))[0];
}

const ageOf = ({ metadata }: Team): string => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

/** The wall and the quota of a team would bring the cluster or the platform down there, and its developers could write exceptions. */
const isReserved = (name: string, platformNamespace: string): boolean =>
  name === platformNamespace || name === 'default' || name === 'policy-exceptions' || name.startsWith('kube-');
