/**
 * The roles of approvers (docs/requirements.md, 002). They are user groups, which the authentication of the cluster
 * assigns.
 */
import type { ApproverRole } from '../../../api/index.ts';
import type { UserInfo } from '../../review/decode.ts';

const adminGroup = 'kidp:admin';
const ownerGroup = (environment: string): string => `kidp:environment-owner:${environment}`;

/** `rolesIn` returns the roles of a user in an environment. */
export function rolesIn(environment: string | undefined, { groups = [] }: UserInfo): ApproverRole[] {
  const roles: ApproverRole[] = [];
  if (groups.includes(adminGroup)) roles.push('Admin');
  if (environment !== undefined && groups.includes(ownerGroup(environment))) roles.push('EnvironmentOwner');
  return roles;
}

/** `groupFor` names the group of a role, for denial messages. */
export const groupFor = (role: ApproverRole, environment: string | undefined): string =>
  role === 'Admin' ? adminGroup : ownerGroup(environment ?? '…');
