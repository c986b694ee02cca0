/** The roles of requirement 002, which are groups of users: whoever signs people in says who is in them. */
import type { ApproverRole } from '../../../api/index.ts';
import type { UserInfo } from '../../review/decode.ts';

const adminGroup = 'kidp:admin';
const ownerGroup = (environment: string): string => `kidp:environment-owner:${environment}`;

/** What somebody may decide as, in an environment. */
export function rolesIn(environment: string | undefined, { groups = [] }: UserInfo): ApproverRole[] {
  const roles: ApproverRole[] = [];
  if (groups.includes(adminGroup)) roles.push('Admin');
  if (environment !== undefined && groups.includes(ownerGroup(environment))) roles.push('EnvironmentOwner');
  return roles;
}

/** Who could decide instead, for the text of a refusal. */
export const groupFor = (role: ApproverRole, environment: string | undefined): string =>
  role === 'Admin' ? adminGroup : ownerGroup(environment ?? '…');
