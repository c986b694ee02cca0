import { expect, test } from 'vitest';
import { isSentToNamespaceGate, namespaceWebhooks, withoutNamespaceDeletions } from './namespace-webhook.ts';
import type { Target } from './targets.ts';

const exemptNamespaces = ['kube-system', 'kidp-system'];
const target = (over: Partial<Target> = {}): Target => ({
  group: '',
  version: 'v1',
  resource: 'namespaces',
  operation: 'DELETE',
  failurePolicy: 'Fail',
  systemNamespaces: false,
  sparing: false,
  ...over,
});

test('what is asked about is the deletion of Namespaces, each by one webhook, and those of the system never', () => {
  const webhooks = namespaceWebhooks({ failurePolicy: 'Fail', targets: [], exemptNamespaces });
  for (const { scope } of webhooks.slice(0, 2)) {
    expect(scope.rules).toEqual([
      { apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['namespaces'], scope: '*' },
    ]);
    expect(scope.exemptNamespaces).toEqual(exemptNamespaces);
  }
  const [teams, others] = webhooks.map(({ scope }) => scope.matchConditions[0]?.expression);
  expect(teams).toContain("'platform.company.com/team' in oldObject.metadata.labels");
  expect(others).toBe(`!(${teams})`);
});

test.each<{ reason: string; targets: Target[]; closed: boolean }>([
  { reason: 'no policy matches', targets: [], closed: false },
  { reason: 'a policy that fails closed is', targets: [target()], closed: true },
  { reason: 'one on everything is', targets: [target({ group: '*', version: '*', resource: '*' })], closed: true },
  { reason: 'only one that fails open is', targets: [target({ failurePolicy: 'Ignore' })], closed: false },
  { reason: 'a policy matches their creation', targets: [target({ operation: 'CREATE' })], closed: false },
  { reason: 'a policy matches objects in them', targets: [target({ resource: 'pods' })], closed: false },
])('namespaces of no Team wait while nobody answers: $closed, where $reason', ({ targets, closed }) => {
  const webhooks = namespaceWebhooks({ failurePolicy: 'Fail', targets, exemptNamespaces });
  expect(webhooks.map(({ name, failurePolicy }) => [name, failurePolicy])).toEqual([
    ['team-namespaces', 'Fail'],
    ['namespaces', closed ? 'Fail' : 'Ignore'],
    ['namespace-labels', 'Fail'],
  ]);
});

test.each<{ reason: string; over: Partial<Target>; sent: boolean; condition: boolean }>([
  { reason: 'their deletion', over: {}, sent: true, condition: true },
  { reason: 'their deletion, of the system too', over: { systemNamespaces: true }, sent: false, condition: true },
  { reason: 'everything', over: { group: '*', resource: '*/*' }, sent: false, condition: true },
  { reason: 'their change', over: { operation: 'UPDATE' }, sent: false, condition: false },
  { reason: 'their finalization', over: { resource: 'namespaces/finalize' }, sent: false, condition: false },
  { reason: 'another group', over: { group: 'apps', resource: '*' }, sent: false, condition: false },
])('what policies say of $reason is sent to the gate alone: $sent, or in part: $condition', (row) => {
  expect(isSentToNamespaceGate(target(row.over))).toBe(row.sent);
  expect(withoutNamespaceDeletions([target(row.over)], exemptNamespaces).length > 0).toBe(row.condition);
});
