import { expect, test } from 'vitest';
import { callerOf, holdsOneOf } from './caller.ts';

test.each([
  { reason: 'a role', groups: ['kidp:operator'], roles: ['Operator'], environments: [] },
  { reason: 'several', groups: ['kidp:viewer', 'kidp:admin'], roles: ['Viewer', 'Admin'], environments: [] },
  {
    reason: 'the owner of two environments',
    groups: ['kidp:environment-owner:Dev', 'kidp:environment-owner:Production'],
    roles: ['EnvironmentOwner'],
    environments: ['Dev', 'Production'],
  },
  {
    reason: 'groups of Kubernetes and unknown groups are dropped',
    groups: ['system:masters', 'kidp:Admin', 'kidp:environment-owner:Test', 'admin'],
    roles: [],
    environments: [],
  },
])('$reason', ({ groups, roles, environments }) => {
  const caller = callerOf('ann', groups);
  expect([...caller.roles]).toEqual(roles);
  expect([...caller.environments]).toEqual(environments);
  expect(caller.groups).toEqual(groups.filter((group) => roles.length > 0 && group.startsWith('kidp:')));
  expect(holdsOneOf(caller, ['Admin', 'Operator'])).toBe(roles.some((role) => role === 'Admin' || role === 'Operator'));
});
