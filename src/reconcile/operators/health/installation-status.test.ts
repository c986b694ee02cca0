/** Tests of the status of an installation after a check, and its effects on Operators and rollouts. */
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
const bad: CheckResult = { state: 'Unhealthy', message: 'Pods crash' };
const open: CheckResult = { state: 'Unknown', message: 'no response' };

describe('installationStatus', () => {
  const rows: {
    reason: string;
    before?: object;
    generation?: number;
    seen: CheckResult;
    fields: object;
    event?: string;
  }[] = [
    {
      reason: 'the first check is healthy: no event',
      seen: good,
      fields: { health: 'Healthy', phase: 'ready', failuresInRow: 0, since: '2026-01-02T00:00:00Z', controllerPods: 2 },
    },
    {
      reason: 'the first check is unhealthy',
      seen: bad,
      fields: { health: 'Unhealthy', phase: 'failed', failuresInRow: 1 },
      event: 'OperatorUnhealthy',
    },
    {
      reason: 'still unhealthy',
      before: { health: 'Unhealthy', failuresInRow: 1, since: earlier },
      seen: bad,
      fields: { failuresInRow: 2, since: earlier },
    },
    {
      reason: 'stops counting at the threshold to avoid a write in every round',
      before: { health: 'Unhealthy', failuresInRow: 3, since: earlier },
      seen: bad,
      fields: { failuresInRow: 3 },
    },
    {
      reason: 'healthy again',
      before: { health: 'Unhealthy', failuresInRow: 3, since: earlier },
      seen: good,
      fields: { health: 'Healthy', failuresInRow: 0, since: '2026-01-02T00:00:00Z' },
      event: 'OperatorHealthy',
    },
    {
      reason: 'unknown neither counts as a failure nor resets the count',
      before: { health: 'Unhealthy', failuresInRow: 2, since: earlier },
      seen: open,
      fields: { health: 'Unknown', phase: 'unknown', failuresInRow: 2 },
      event: 'OperatorHealthUnknown',
    },
    {
      reason: 'unknown keeps the last results of the parts',
      before: { health: 'Healthy', pods: { state: 'Healthy' }, controllerPods: 2 },
      seen: open,
      fields: { pods: { state: 'Healthy' }, controllerPods: 2 },
      event: 'OperatorHealthUnknown',
    },
    {
      reason: 'another version starts without the old results',
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

  it('contains nothing that changes with every check, such as its duration', () => {
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

describe('degradedBy', () => {
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
      reason: 'degraded if one installation fails',
      object: deployment({}),
      of: [failing],
      status: 'True',
    },
    {
      reason: 'not degraded below the threshold',
      object: deployment({}),
      of: [installation({ health: 'Unhealthy', failuresInRow: 2 })],
    },
    {
      reason: 'not degraded by failures of another version',
      object: deployment({}),
      of: [installation({ health: 'Unhealthy', failuresInRow: 3 }, { generation: 2 })],
    },
    {
      reason: 'not degraded while in progress: the rollout checks health itself',
      object: deployment({ phase: 'Validating' }),
      of: [failing],
    },
    {
      reason: 'not degraded after the rollback window',
      object: deployment({ finishedAt: '2025-12-31T00:00:00Z' }),
      of: [failing],
    },
    {
      reason: 'degraded while the other blue-green side is kept',
      object: deployment({ finishedAt: '2025-12-31T00:00:00Z' }, { blueGreenConfig: { retentionPeriod: 'P7D' } }),
      of: [failing],
      status: 'True',
    },
    {
      reason: 'healthy again',
      object: deployment(wasDegraded),
      of: [installation({ health: 'Healthy' })],
      status: 'False',
    },
    {
      reason: 'not degraded if the version was restored by another rollback',
      object: deployment({}),
      of: [failingWith({ restoredBy: 'newer' })],
    },
    {
      reason: 'no longer degraded after such a rollback',
      object: deployment(wasDegraded),
      of: [failingWith({ restoredBy: 'newer' })],
      status: 'False',
    },
    {
      reason: 'not degraded by the installation of an older rollout with the same name',
      object: deployment({}),
      of: [failingWith({ snapshot: 'old' }), failingWith({ cluster: 'elsewhere' })],
    },
    {
      reason: 'degraded within maxFailures',
      object: deployment({}, { maxFailures: 1 }),
      of: [failing],
      status: 'True',
      because: 'WithinMaxFailures',
    },
    {
      reason: 'degraded beyond maxFailures, including failures during the rollout',
      object: deployment({ clusters: [on('near'), on('far', 'RolledBack')] }, { maxFailures: 1 }),
      of: [failing],
      status: 'True',
      because: 'Unhealthy',
    },
    {
      reason: 'degraded by a cluster that was set aside and is reachable again',
      object: deployment({ clusters: [on('near', 'Validating'), on('far')] }),
      of: [failing],
      status: 'True',
    },
    { reason: 'healthy: no condition', object: deployment({}), of: [installation({ health: 'Healthy' })] },
  ];
  for (const { reason, object, of, status, because } of rows) {
    it(reason, () => {
      const said = degradedBy(object, of, { now, windowMilliseconds: 86_400_000 });
      expect(said?.status).toBe(status);
      if (because !== undefined) expect(said?.reason).toBe(because);
    });
  }
});

describe('Operator counts', () => {
  const on = (cluster: string, health?: string) =>
    installation(health === undefined ? undefined : { health }, { cluster });
  const rows: { reason: string; of: OperatorInstallation[]; healthy: number; status: string; says: RegExp }[] = [
    { reason: 'not installed', of: [], healthy: 0, status: 'Unknown', says: /not installed/ },
    {
      reason: 'healthy everywhere',
      of: [on('a', 'Healthy'), on('b', 'Healthy')],
      healthy: 2,
      status: 'True',
      says: /2 of 2/,
    },
    {
      reason: 'unknown somewhere',
      of: [on('a', 'Healthy'), on('b')],
      healthy: 1,
      status: 'Unknown',
      says: /1 of 2/,
    },
    {
      reason: 'unhealthy somewhere',
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
