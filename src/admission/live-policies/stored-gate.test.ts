import { afterEach, describe, expect, test, vi } from 'vitest';
import { namespaces, policyCluster } from '../../../test/support/live-policies.ts';
import { application, database, policy, team } from '../../api/index.ts';
import type { UnknownObject } from '../../runtime/index.ts';
import { eventually, FakeClock } from '../../runtime/testing/index.ts';
import { startPolicySource } from './source.ts';
import { storedGate } from './stored-gate.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function start(cluster = policyCluster(), clock?: FakeClock) {
  const source = startPolicySource({
    client: cluster.client,
    platformNamespace: 'kidp-system',
    exceptionNamespaces: ['policy-exceptions'],
  });
  const gate = storedGate(source, clock === undefined ? {} : { clock });
  ends.push(
    () => source.stop(),
    () => gate.stop(),
  );
  return { cluster, source, gate };
}

const databaseOf = (more: { metadata?: object; spec?: object } = {}): UnknownObject => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  metadata: { name: 'users', namespace: 'team-a', uid: 'u-1', generation: 1, ...more.metadata },
  spec: { engine: 'postgresql', ...more.spec },
  status: { phase: 'pending' },
});
const needsBackup = {
  selector: { resourceTypes: ['Database'] },
  rules: [{ name: 'backup', expression: 'has(object.spec.backup)', message: 'no backup' }],
};

describe('an object as it is stored', () => {
  test('is not judged before the policies are read', async () => {
    const { gate, source } = start();
    expect(await gate.ask(database, databaseOf())).toMatchObject({ admitted: 'unknown' });
    await source.whenSynced();
    expect(await gate.ask(database, databaseOf())).toEqual({ admitted: true });
  });

  test.each([
    {
      reason: 'is denied by a policy, in its words',
      object: databaseOf(),
      admitted: { admitted: false, reasons: [expect.stringContaining('no backup')] },
    },
    { reason: 'is admitted', object: databaseOf({ spec: { backup: {} } }), admitted: { admitted: true } },
    {
      reason: 'is denied where its owner belongs to another team',
      object: databaseOf({ spec: { backup: {}, owner: { kind: 'Team', name: 'other' } } }),
      admitted: { admitted: false, reasons: [expect.stringContaining('spec.owner is Team other')] },
    },
    {
      reason: 'is denied where its label claims another team',
      object: databaseOf({
        metadata: { labels: { 'platform.company.com/team': 'team-b' } },
        spec: { backup: {}, owner: { kind: 'Team', name: 'a' } },
      }),
      admitted: { admitted: false, reasons: [expect.stringContaining('platform.company.com/team')] },
    },
    {
      reason: 'may wait for its owner: that is for the reconciler to see',
      object: databaseOf({ spec: { backup: {}, owner: { kind: 'Team', name: 'later' } } }),
      admitted: { admitted: true },
    },
    {
      reason: 'is denied where its owners own one another',
      object: databaseOf({ spec: { backup: {}, owner: { kind: 'Application', name: 'one' } } }),
      admitted: { admitted: false, reasons: [expect.stringContaining('forms a cycle')] },
    },
  ])('$reason', async ({ object, admitted }) => {
    const cluster = policyCluster();
    cluster.put(policy.resource, { metadata: { name: 'backup' }, spec: needsBackup });
    cluster.put(team.resource, { metadata: { name: 'a' }, spec: { namespace: 'team-a' } });
    cluster.put(team.resource, { metadata: { name: 'other' }, spec: { namespace: 'team-b' } });
    for (const [name, owner] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      const spec = { owner: { kind: 'Application', name: owner } };
      cluster.put(application.resource, { metadata: { name, namespace: 'team-a' }, spec });
    }
    const { gate, source } = start(cluster);
    await source.whenSynced();
    expect(await gate.ask(database, object)).toEqual(admitted);
  });

  test('is not evaluated by rules that need a request', async () => {
    const cluster = policyCluster();
    const spec = {
      selector: { resourceTypes: ['Database'] },
      rules: [{ name: 'who', expression: "request.userInfo.username == 'ada'" }],
    };
    cluster.put(policy.resource, { metadata: { name: 'who' }, spec });
    const { gate, source } = start(cluster);
    await source.whenSynced();
    expect(await gate.ask(database, databaseOf())).toEqual({ admitted: true });
  });
});

describe('an answer', () => {
  test.each([
    {
      reason: 'is another when a policy comes',
      change: (cluster: ReturnType<typeof policyCluster>) =>
        cluster.put(policy.resource, { metadata: { name: 'backup' }, spec: needsBackup }),
    },
    {
      reason: 'is another when what a policy reads changes',
      change: (cluster: ReturnType<typeof policyCluster>) =>
        cluster.putConfigMap('limits', 'team-a', { engine: 'mysql' }),
    },
    {
      reason: 'is another when the namespace changes',
      change: (cluster: ReturnType<typeof policyCluster>) =>
        cluster.put(namespaces, { metadata: { name: 'team-a', labels: { closed: 'yes' } } }),
    },
  ])('$reason', async ({ change }) => {
    const cluster = policyCluster();
    cluster.putConfigMap('limits', 'team-a', { engine: 'postgresql' });
    const spec = {
      selector: { resourceTypes: ['Database'] },
      context: [{ name: 'limits', apiVersion: 'v1', kind: 'ConfigMap', resourceName: 'limits', namespace: 'team-a' }],
      rules: [
        { name: 'engine', expression: 'limits.data.engine == object.spec.engine' },
        { name: 'open', expression: "!('closed' in namespaceObject.metadata.labels)" },
      ],
    };
    cluster.put(policy.resource, { metadata: { name: 'engines' }, spec });
    const { gate, source } = start(cluster);
    await source.whenSynced();
    expect(await gate.ask(database, databaseOf())).toEqual({ admitted: true });
    change(cluster);
    await eventually(async () => (await gate.ask(database, databaseOf())).admitted === false, { within: 20_000 });
  });

  test('changes when a rule takes effect, and subscribers are notified', async () => {
    const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
    vi.spyOn(Date, 'now').mockImplementation(() => clock.now());
    ends.push(() => vi.restoreAllMocks());
    const cluster = policyCluster();
    const [rule] = needsBackup.rules;
    const spec = { ...needsBackup, rules: [{ ...rule, enforceAfter: '2026-01-02' }] };
    cluster.put(policy.resource, { metadata: { name: 'backup' }, spec });
    const { gate, source } = start(cluster, clock);
    await source.whenSynced();
    const listener = vi.fn();
    gate.subscribe(listener);
    expect(await gate.ask(database, databaseOf())).toEqual({ admitted: true });
    await clock.advance(1_000);
    listener.mockClear();
    await clock.advance(24 * 3_600_000);
    expect(listener).toHaveBeenCalled();
    expect(await gate.ask(database, databaseOf())).toMatchObject({ admitted: false });
  });

  test('is remembered while nothing changes but the status', async () => {
    const { gate, source } = start();
    await source.whenSynced();
    await gate.ask(database, databaseOf());
    const current = vi.spyOn(source.owners, 'team');
    const owned = { spec: { owner: { kind: 'Team', name: 'later' } } };
    for (const phase of ['pending', 'ready']) await gate.ask(database, { ...databaseOf(owned), status: { phase } });
    expect(current).toHaveBeenCalledTimes(0);
    await gate.ask(database, databaseOf({ metadata: { generation: 2 }, ...owned }));
    expect(current).toHaveBeenCalledTimes(1);
  });
});
