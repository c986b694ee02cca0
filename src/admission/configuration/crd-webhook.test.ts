import { expect, test } from 'vitest';
import { gateWebhooks, isSentToGate, withoutDefinitions } from './crd-webhook.ts';
import type { Target } from './targets.ts';

const target = (over: Partial<Target>): Target => ({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  operation: 'CREATE',
  failurePolicy: 'Fail',
  systemNamespaces: false,
  sparing: false,
  ...over,
});

test('the definitions of the platform can be installed while it is away', () => {
  const [others, own] = gateWebhooks('Fail');
  expect(others).toMatchObject({ failurePolicy: 'Fail' });
  expect(own).toMatchObject({ failurePolicy: 'Ignore' });
  expect(own?.scope.matchConditions[0]?.expression).toContain("'databases.platform.company.com'");
  expect(others?.scope.matchConditions[0]?.expression).toBe(`!(${own?.scope.matchConditions[0]?.expression})`);
});

test.each([
  { reason: 'definitions themselves', over: {}, sent: true },
  { reason: 'their deletion', over: { operation: 'DELETE' }, sent: true },
  { reason: 'not their status', over: { resource: 'customresourcedefinitions/status' }, sent: false },
  { reason: 'nothing else of the group', over: { resource: 'others' }, sent: false },
  { reason: 'nothing of another group', over: { group: 'apps' }, sent: false },
])('what policies say of $reason is sent to the gate: $sent', ({ over, sent }) => {
  expect(isSentToGate(target(over))).toBe(sent);
});

test.each([
  { reason: 'everything', over: { group: '*', resource: '*' }, spared: true },
  { reason: 'everything with its subresources', over: { group: '*', resource: '*/*' }, spared: true },
  { reason: 'everything of the group', over: { resource: '*' }, spared: true },
  { reason: 'everything of another group', over: { group: 'apps', resource: '*' }, spared: false },
  { reason: 'one kind', over: { group: 'apps', resource: 'deployments' }, spared: false },
])('a rule on $reason leaves definitions to the gate: $spared', ({ over, spared }) => {
  expect(withoutDefinitions([target(over)]).length > 0).toBe(spared);
});
