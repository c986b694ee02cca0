/** Decides which Team gets a namespace, and which namespaces are reserved. */
import { type Team, teamOfNamespace } from '../../api/index.ts';
import type { KubernetesObject } from '../../runtime/index.ts';

/** Why a Team does not get its namespace, and what to do about it. */
export interface Refusal {
  readonly reason: 'NamespaceTaken' | 'NamespaceReserved' | 'NamespaceTerminating';
  readonly message: string;
}

interface Claim {
  readonly team: Team;
  /** All Teams that name this namespace, including this one. */
  readonly claimants: readonly Team[];
  /** The current namespace, if it exists. */
  readonly namespace: KubernetesObject | undefined;
  /** Namespaces that no Team gets: names, or prefixes that end in `*`. */
  readonly reserved: readonly string[];
}

export interface Reservations {
  readonly platformNamespace: string;
  /** Names, or prefixes that end in `*`. */
  readonly reservedNamespaces?: readonly string[] | undefined;
  /** Who can write there can exempt from policies. */
  readonly exceptionNamespaces?: readonly string[] | undefined;
}

/** `reservedBy` lists what no Team gets. Some namespaces are reserved whatever the administrator configures. */
export const reservedBy = ({
  platformNamespace,
  reservedNamespaces = ['default', 'kube-*'],
  exceptionNamespaces = ['policy-exceptions'],
}: Reservations): readonly string[] => [
  ...reservedNamespaces,
  ...exceptionNamespaces,
  platformNamespace,
  'kube-system',
];

/** `refusalOf` returns undefined if the Team may have the namespace. */
export function refusalOf({ team, claimants, namespace, reserved }: Claim): Refusal | undefined {
  const name = team.spec.namespace;
  if (isReserved(name, reserved)) {
    return {
      reason: 'NamespaceReserved',
      message: `Namespace ${name} is reserved for the cluster or the platform: re-create the Team with another spec.namespace`,
    };
  }
  const holder = teamOfNamespace(name, claimants) ?? team;
  if (holder.metadata.uid !== team.metadata.uid) {
    return {
      reason: 'NamespaceTaken',
      message: `Namespace ${name} belongs to the older Team ${holder.metadata.name}: re-create this Team with another spec.namespace, or delete the other Team`,
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

/**
 * In these namespaces a default-deny policy and a quota would break the cluster or the platform, and developers could
 * write exceptions.
 */
const isReserved = (name: string, reserved: readonly string[]): boolean =>
  reserved.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each));
