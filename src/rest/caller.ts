/**
 * The caller of a request and their roles (docs/requirements.md, 002, Authorization). The roles in manifests/rbac are
 * bound to the same groups.
 */
import { type Environment, environments } from '../api/index.ts';

export const roles = ['Admin', 'Operator', 'Viewer', 'EnvironmentOwner'] as const;
export type Role = (typeof roles)[number];

export interface Caller {
  readonly user: string;
  /** Groups of the platform only. The caller is impersonated with these groups and no others. */
  readonly groups: readonly string[];
  readonly roles: ReadonlySet<Role>;
  /** Environments that the caller owns. */
  readonly environments: ReadonlySet<Environment>;
}

const groupOfRole: ReadonlyMap<string, Role> = new Map([
  ['kidp:admin', 'Admin'],
  ['kidp:operator', 'Operator'],
  ['kidp:viewer', 'Viewer'],
]);
const groupOfOwner: ReadonlyMap<string, Environment> = new Map(
  environments.map((environment) => [`kidp:environment-owner:${environment}`, environment]),
);

/** All groups that grant a role. */
export const roleGroups: readonly string[] = [...groupOfRole.keys(), ...groupOfOwner.keys()];

/**
 * `callerOf` drops every group that grants no role here (above all `system:masters`): an external issuer must not grant
 * rights of the cluster.
 */
export function callerOf(user: string, claimed: readonly string[]): Caller {
  const groups = [...new Set(claimed)].filter((group) => groupOfRole.has(group) || groupOfOwner.has(group));
  const owned = groups.map((group) => groupOfOwner.get(group)).filter((environment) => environment !== undefined);
  const held = groups.map((group) => groupOfRole.get(group)).filter((role) => role !== undefined);
  return {
    user,
    groups,
    roles: new Set<Role>([...held, ...(owned.length > 0 ? (['EnvironmentOwner'] as const) : [])]),
    environments: new Set(owned),
  };
}

export const holdsOneOf = (caller: Caller, wanted: readonly Role[]): boolean =>
  wanted.some((role) => caller.roles.has(role));
