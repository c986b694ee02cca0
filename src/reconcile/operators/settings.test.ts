import { describe, expect, test } from 'vitest';
import { defaultRolloutSettings, levelsFor, readRolloutSettings } from './settings.ts';

describe('settings of rollouts', () => {
  test('missing fields have their defaults', () => {
    expect(readRolloutSettings('')).toEqual(defaultRolloutSettings);
    expect(readRolloutSettings('maxConcurrent: 3')).toEqual({ ...defaultRolloutSettings, maxConcurrent: 3 });
  });

  test('approvals are switched by environment', () => {
    const settings = readRolloutSettings(`
approvals:
  Production: []
  Staging: [{role: EnvironmentOwner}, {role: Admin, approvals: 2}]
versionUpgrade: {environments: []}
breakingDefinitions: {environments: [Dev]}
notify: {Staging: [owners@example.com]}
`);
    expect(levelsFor(settings, 'ProductionDeployment', 'Production')).toEqual([]);
    expect(levelsFor(settings, 'ProductionDeployment', 'Staging')).toEqual([
      { role: 'EnvironmentOwner', approvals: 1 },
      { role: 'Admin', approvals: 2 },
    ]);
    expect(levelsFor(settings, 'VersionUpgrade', 'Production')).toEqual([]);
    expect(levelsFor(settings, 'BreakingCRDChange', 'Dev')).toEqual([{ role: 'Admin', approvals: 1 }]);
    expect(settings.notify).toEqual({ Staging: ['owners@example.com'] });
  });

  test.each([
    { reason: 'no YAML', text: 'a: [', names: 'is not valid YAML' },
    { reason: 'no mapping', text: '- a', names: 'the file is not a mapping' },
    { reason: 'an unknown field', text: 'approvers: {}', names: 'has the unknown field approvers' },
    {
      reason: 'an unknown environment',
      text: 'approvals: {Test: []}',
      names: 'approvals has the unknown field Test',
    },
    { reason: 'an unknown role', text: 'approvals: {Dev: [{role: Boss}]}', names: 'approvals.Dev[0].role' },
    {
      reason: 'zero approvals',
      text: 'approvals: {Dev: [{role: Admin, approvals: 0}]}',
      names: 'approvals.Dev[0]',
    },
    { reason: 'no number', text: 'maxConcurrent: many', names: 'maxConcurrent must be a number from 1' },
    { reason: 'no environments', text: 'versionUpgrade: {environments: [Prod]}', names: 'versionUpgrade.environments' },
    { reason: 'no address', text: 'notify: {Dev: [nobody]}', names: 'notify.Dev' },
  ])('names the field: $reason', ({ text, names }) => {
    expect(() => readRolloutSettings(text)).toThrow(names);
  });
});
