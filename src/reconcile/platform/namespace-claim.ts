/** Decides which Team gets a namespace, and which namespaces are reserved. */
import { TEAM_LABEL, type Team } from '../../api/index.ts';
import type { KubernetesObject } from '../../runtime/index.ts';

/** Why a Team does not get its namespace, and what to do about it. */
export interface Refusal {
  readonly reason: 'NamespaceTaken' | 'NamespaceReserved' | 'NamespaceOfAnotherTeam' | 'NamespaceTerminating';
  readonly message: string;
}

interface Claim {
  readonly team: Team;
  /** All Teams that name this namespace, including this one. */
  readonly claimants: readonly Team[];
  /** The current namespace, if it exists. */
  readonly namespace: KubernetesObject | undefined;
  readonly platformNamespace: string;
}

/** `refusalOf` returns undefined if the Team may have the namespace. */
export function refusalOf({ team, claimants, namespace, platformNamespace }: Claim): Refusal | undefined {
  const name = team.spec.namespace;
  if (isReserved(name, platformNamespace)) {
    return {
      reason: 'NamespaceReserved',
      message: `Namespace ${name} is reserved for the cluster or the platform: re-create the Team with another spec.namespace`,
    };
  }
  const holder = holderOf(claimants) ?? team;
  if (holder.metadata.uid !== team.metadata.uid) {
    return {
      reason: 'NamespaceTaken',
      message: `Namespace ${name} belongs to the older Team ${holder.metadata.name}: re-create this Team with another spec.namespace, or delete the other Team`,
    };
  }
  const label = namespace?.metadata.labels?.[TEAM_LABEL];
  if (label !== undefined && label !== name) {
    return {
      reason: 'NamespaceOfAnotherTeam',
      message: `Namespace ${name} has the label ${TEAM_LABEL}=${label} and belongs to another team: remove the label if it does not, or re-create the Team with another spec.namespace`,
    };
  }
  if (namespace?.metadata.deletionTimestamp !== undefined) {
    return {
      reason: 'NamespaceTerminating',
      message: `Namespace ${name} is being deleted and will be re-created after that`,
    };
  }
  return undefined;
}

/** `holderOf` returns the oldest Team; among Teams of the same second, the first by name. */
function holderOf(claimants: readonly Team[]): Team | undefined {
  return [...claimants].sort((one, other) => compare(ageOf(one), ageOf(other)))[0];
}

const ageOf = ({ metadata }: Team): string => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

/**
 * In these namespaces a default-deny policy and a quota would break the cluster or the platform, and developers could
 * write exceptions.
 */
const isReserved = (name: string, platformNamespace: string): boolean =>
  name === platformNamespace || name === 'default' || name === 'policy-exceptions' || name.startsWith('kube-');
