/** What is known of an installation after a look, and what follows from it for Operators and deployments. */
import { describe, expect, it } from 'vitest';
import type { OperatorDeployment, OperatorInstallation } from '../../../api/index.ts';
import { countOf } from './counts.ts';
import { type CheckResult, installationStatus } from './installation-status.ts';
import { degradedBy } from './revalidation.ts';

const now = Date.UTC(2026, 0, 2);
const earlier = '2026-01-01T00:00:00Z';

function installation(
  status?: object,
  over: { generation?: number; cluster?: string; restoredBy?: string; snapshot?: string } = {},
): OperatorInstallation {
  const { generation = 1, cluster = 'near', snapshot = 'new', restoredBy } = over;
  return {
    metadata: { name: `widgets.${cluster}`, generation },
    spec: {
      operator: 'widgets',
      cluster,
      version: '1.0.0',
      snapshot,
      ...(restoredBy === undefined ? {} : { restoredBy }),
    },
    ...(status === undefined ? {} : { status: { observedGeneration: 1, ...status } }),
  } as unknown as OperatorInstallation;
}

const good: CheckResult = {
  state: 'Healthy',
  message: '',
  controllerPods: 2,
  pods: { state: 'Healthy', milliseconds: 3 },
};
const bad: CheckResult = { state: 'Unhealthy', message: 'it crashes' };
const open: CheckResult = { state: 'Unknown', message: 'no answer' };

describe('an installation', () => {
  const rows: {
    reason: string;
    before?: object;
    generation?: number;
    seen: CheckResult;
    fields: object;
    event?: string;
  }[] = [
    {
      reason: 'was never looked at, and is well: that is no event',
      seen: good,
      fields: { health: 'Healthy', phase: 'ready', failuresInRow: 0, since: '2026-01-02T00:00:00Z', controllerPods: 2 },
    },
    {
      reason: 'was never looked at, and is not well',
      seen: bad,
      fields: { health: 'Unhealthy', phase: 'failed', failuresInRow: 1 },
      event: 'OperatorUnhealthy',
    },
    {
      reason: 'still is not well',
      before: { health: 'Unhealthy', failuresInRow: 1, since: earlier },
      seen: bad,
      fields: { failuresInRow: 2, since: earlier },
    },
    {
      reason: 'has failed as often as matters: more would be a write every round',
      before: { health: 'Unhealthy', failuresInRow: 3, since: earlier },
      seen: bad,
      fields: { failuresInRow: 3 },
    },
    {
      reason: 'is well again',
      before: { health: 'Unhealthy', failuresInRow: 3, since: earlier },
      seen: good,
      fields: { health: 'Healthy', failuresInRow: 0, since: '2026-01-02T00:00:00Z' },
      event: 'OperatorHealthy',
    },
    {
      reason: 'cannot be asked: that is neither a failure nor the end of those before',
      before: { health: 'Unhealthy', failuresInRow: 2, since: earlier },
      seen: open,
      fields: { health: 'Unknown', phase: 'unknown', failuresInRow: 2 },
      event: 'OperatorHealthUnknown',
    },
    {
      reason: 'cannot be asked, and keeps what was last seen of its parts',
      before: { health: 'Healthy', pods: { state: 'Healthy' }, controllerPods: 2 },
      seen: open,
      fields: { pods: { state: 'Healthy' }, controllerPods: 2 },
      event: 'OperatorHealthUnknown',
    },
    {
      reason: 'is another version since: what was known is not of this one',
      before: { health: 'Unhealthy', failuresInRow: 2, since: earlier, controllerPods: 9 },
      generation: 2,
      seen: bad,
      fields: { failuresInRow: 1, observedGeneration: 2, since: '2026-01-02T00:00:00Z' },
      event: 'OperatorUnhealthy',
    },
  ];
  for (const { reason, before, generation = 1, seen, fields, event } of rows) {
    it(reason, () => {
      const standing = installationStatus(installation(before, { generation }), seen, { now, threshold: 3 });
      expect(standing.desired.fields).toMatchObject(fields);
      expect(standing.event?.reason).toBe(event);
    });
  }

  it('says nothing that changes with every look, such as how long it took', () => {
    const [one, other] = [3, 4].map((milliseconds) =>
      installationStatus(
        installation({ health: 'Healthy', since: earlier }),
        { ...good, pods: { state: 'Healthy', milliseconds } },
        {
          now: now + milliseconds * 60_000,
          threshold: 3,
        },
      ),
    );
    expect(one).toEqual(other);
  });
});

describe('a deployment', () => {
  const on = (name: string, state = 'Healthy') => ({ name, state, snapshot: 'new' });
  const deployment = (status: object, spec: object = {}): OperatorDeployment =>
    ({
      metadata: { name: 'rollout', generation: 1 },
      spec: { health: { failureThreshold: 3 }, ...spec },
      status: { phase: 'Completed', finishedAt: earlier, clusters: [on('near'), on('far')], ...status },
    }) as unknown as OperatorDeployment;
  const failing = installation({ health: 'Unhealthy', failuresInRow: 3 });
  const failingWith = (over: Parameters<typeof installation>[1]) =>
    installation({ health: 'Unhealthy', failuresInRow: 3 }, over);
  const wasDegraded = { conditions: [{ type: 'Degraded', status: 'True', reason: 'Unhealthy', message: '' }] };
  const rows: {
    reason: string;
    object: OperatorDeployment;
    of: OperatorInstallation[];
    status?: string;
    because?: string;
  }[] = [
    {
      reason: 'is degraded where one of its installations fails',
      object: deployment({}),
      of: [failing],
      status: 'True',
    },
    {
      reason: 'is not, before there are enough failures',
      object: deployment({}),
      of: [installation({ health: 'Unhealthy', failuresInRow: 2 })],
    },
    {
      reason: 'is not, where the failures are of another version',
      object: deployment({}),
      of: [installation({ health: 'Unhealthy', failuresInRow: 3 }, { generation: 2 })],
    },
    {
      reason: 'is not, while it is under way: whoever rolls out looks itself',
      object: deployment({ phase: 'Validating' }),
      of: [failing],
    },
    {
      reason: 'is not, once what was there before is not kept any more',
      object: deployment({ finishedAt: '2025-12-31T00:00:00Z' }),
      of: [failing],
    },
    {
      reason: 'is, as long as it keeps the other side of a blue-green deployment',
      object: deployment({ finishedAt: '2025-12-31T00:00:00Z' }, { blueGreenConfig: { retentionPeriod: 'P7D' } }),
      of: [failing],
      status: 'True',
    },
    {
      reason: 'is well again',
      object: deployment(wasDegraded),
      of: [installation({ health: 'Healthy' })],
      status: 'False',
    },
    {
      reason: 'is not, where another rollout was taken back to it: one rollback does not set off the next',
      object: deployment({}),
      of: [failingWith({ restoredBy: 'newer' })],
    },
    {
      reason: 'is not any more, where that happened meanwhile',
      object: deployment(wasDegraded),
      of: [failingWith({ restoredBy: 'newer' })],
      status: 'False',
    },
    {
      reason: 'is not, where what fails is what an older one of its name has put there',
      object: deployment({}),
      of: [failingWith({ snapshot: 'old' }), failingWith({ cluster: 'elsewhere' })],
    },
    {
      reason: 'is, and no more have failed than may',
      object: deployment({}, { maxFailures: 1 }),
      of: [failing],
      status: 'True',
      because: 'WithinMaxFailures',
    },
    {
      reason: 'is, and with those that have failed under way there are too many',
      object: deployment({ clusters: [on('near'), on('far', 'RolledBack')] }, { maxFailures: 1 }),
      of: [failing],
      status: 'True',
      because: 'Unhealthy',
    },
    {
      reason: 'is, where one that it was completed without is not well once it is back',
      object: deployment({ clusters: [on('near', 'Validating'), on('far')] }),
      of: [failing],
      status: 'True',
    },
    { reason: 'is well: nothing has to be said', object: deployment({}), of: [installation({ health: 'Healthy' })] },
  ];
  for (const { reason, object, of, status, because } of rows) {
    it(reason, () => {
      const said = degradedBy(object, of, { now, windowMilliseconds: 86_400_000 });
      expect(said?.status).toBe(status);
      if (because !== undefined) expect(said?.reason).toBe(because);
    });
  }
});

describe('an Operator', () => {
  const on = (cluster: string, health?: string) =>
    installation(health === undefined ? undefined : { health }, { cluster });
  const rows: { reason: string; of: OperatorInstallation[]; healthy: number; status: string; says: RegExp }[] = [
    { reason: 'is nowhere', of: [], healthy: 0, status: 'Unknown', says: /not installed/ },
    {
      reason: 'is well everywhere',
      of: [on('a', 'Healthy'), on('b', 'Healthy')],
      healthy: 2,
      status: 'True',
      says: /2 of 2/,
    },
    {
      reason: 'is not known everywhere',
      of: [on('a', 'Healthy'), on('b')],
      healthy: 1,
      status: 'Unknown',
      says: /1 of 2/,
    },
    {
      reason: 'is not well somewhere',
      of: [on('a', 'Healthy'), on('c', 'Unhealthy'), on('b', 'Unhealthy')],
      healthy: 1,
      status: 'False',
      says: /2 of 3 clusters: b, c/,
    },
  ];
  for (const { reason, of, healthy, status, says } of rows) {
    it(reason, () => {
      const counted = countOf(of);
      expect(counted).toMatchObject({ healthy, condition: { status } });
      expect(counted.condition.message).toMatch(says);
    });
  }
});
