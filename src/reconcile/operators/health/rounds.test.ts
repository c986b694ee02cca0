/** Tests of the order of checks: as many clusters at a time as there are connections, with a limited turn for each. */
import { afterEach, expect, test } from 'vitest';
import { memoryCluster } from '../../../../test/support/memory-cluster.ts';
import {
  API_VERSION,
  cluster,
  installationName,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../../api/index.ts';
import { FleetError, type HealthReport, type Snapshot } from '../../../fleet/index.ts';
import { type Client, Manager, systemClock } from '../../../runtime/index.ts';
import { eventually } from '../../../runtime/testing/index.ts';
import { addOperatorHealth } from './index.ts';

const healthy = { state: 'Healthy' as const, milliseconds: 1 };
const report: HealthReport = {
  ...healthy,
  message: '',
  controllerPods: 1,
  pods: healthy,
  webhook: healthy,
  reconciliation: healthy,
  checkedAt: '2026-01-01T00:00:00Z',
};
const snapshot = { namespace: 'operators', manifests: [], definitions: [] } as unknown as Snapshot;

let undo: (() => Promise<void>) | undefined;
afterEach(async () => {
  await undo?.();
  undo = undefined;
});

/** `installations` is the number per cluster. Four concurrent `requests` are one turn. */
async function looksAt(
  installations: Readonly<Record<string, number>>,
  {
    requests,
    away = [],
    look,
  }: { requests: number; away?: readonly string[]; look?: (on: string, pass: (milliseconds: number) => void) => void },
) {
  const kinds = [operator, cluster, operatorDeployment, operatorInstallation];
  const memory = memoryCluster(kinds.map(({ resource }) => resource));
  const put = (kind: (typeof kinds)[number], name: string, spec: object) =>
    memory.put(kind.resource, { apiVersion: API_VERSION, kind: kind.kind, metadata: { name }, spec });
  const names: string[] = [];
  for (const [on, count] of Object.entries(installations)) {
    put(cluster, on, { environment: 'Dev' });
    for (let number = 0; number < count; number += 1) {
      const name = installationName(`operator-${number}`, on);
      names.push(name);
      const where = { namespace: 'operators', releaseName: 'one', revision: 1 };
      put(operatorInstallation, name, {
        operator: `operator-${number}`,
        cluster: on,
        version: '1.0.0',
        snapshot: 'one',
        ...where,
      });
    }
  }
  let passed = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passed };
  const manager = new Manager({ client: memory.client, clock });
  const order: string[] = [];
  const underWay = new Map<string, number>();
  let most = 0;
  addOperatorHealth(manager, {
    fleet: {
      connect: async (name) => {
        if (away.includes(name))
          throw new FleetError('cluster/unreachable', `${name} is unreachable`, { temporary: true });
        return { cluster: name, client: memory.client as Client } as never;
      },
    },
    health: {
      async look({ cluster: on }) {
        order.push(on);
        underWay.set(on, (underWay.get(on) ?? 0) + 1);
        most = Math.max(most, [...underWay.values()].filter((count) => count > 0).length);
        look?.(on, (milliseconds) => {
          passed += milliseconds;
        });
        await new Promise((resolve) => setImmediate(resolve));
        underWay.set(on, (underWay.get(on) ?? 0) - 1);
        return report;
      },
      forget() {},
    },
    snapshots: { get: async () => snapshot },
    recorder: { record() {} },
    intervalMilliseconds: 3_600_000,
    requests,
  });
  const stop = new AbortController();
  const running = manager.start(stop.signal);
  undo = async () => {
    stop.abort();
    await running;
  };
  const healthOf = (name: string) =>
    (memory.get(operatorInstallation.resource, { name })?.status as { health?: string } | undefined)?.health;
  await eventually(() => names.every((name) => healthOf(name) !== undefined));
  return { order, most, healthOf };
}

test('checks all clusters, never more at a time than there are connections', async () => {
  const clusters = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`cluster-${index}`, 9]));
  const { order, most } = await looksAt(clusters, { requests: 12 });
  expect(order).toHaveLength(12 * 9);
  expect(most).toBe(3);
});

test('a slow cluster yields its turn and continues later', async () => {
  const look = (on: string, pass: (milliseconds: number) => void) => {
    if (on === 'slow') pass(10_000);
  };
  const { order } = await looksAt({ slow: 12, one: 2, other: 1 }, { requests: 4, look });
  expect(order).toHaveLength(15);
  // Four checks start before the duration of the first is known.
  expect(order.slice(0, 7)).toEqual(['slow', 'slow', 'slow', 'slow', 'one', 'one', 'other']);
});

test('an unreachable cluster takes no turn', async () => {
  const { order, healthOf } = await looksAt({ gone: 5, here: 5 }, { requests: 4, away: ['gone'] });
  expect(new Set(order)).toEqual(new Set(['here']));
  expect(healthOf(installationName('operator-0', 'gone'))).toBe('Unknown');
});
