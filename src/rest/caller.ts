/** Who calls, and what they may do here (docs/requirements.md, 002, Authorization). The groups are those that the roles in manifests/rbac are bound to. */
import { type Environment, environments } from '../api/index.ts';

export const roles = ['Admin', 'Operator', 'Viewer', 'EnvironmentOwner'] as const;
export type Role = (typeof roles)[number];

export interface Caller {
  readonly user: string;
  /** Those that mean something here: they are what the caller is impersonated with, and no others. */
  readonly groups: readonly string[];
  readonly roles: ReadonlySet<Role>;
  /** Those that they own. */
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

/** All there are. */
export const roleGroups: readonly string[] = [...groupOfRole.keys(), ...groupOfOwner.keys()];

/** A group of another meaning (`system:masters` above all) is dropped: a token of somebody else's making must not carry it in. */
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
