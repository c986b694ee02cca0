import { afterEach, expect, test } from 'vitest';
import { memoryCluster } from '../../test/support/memory-cluster.ts';
import { replicaLease } from '../api/index.ts';
import { ApiError, silentLogger } from '../runtime/index.ts';
import { leases } from '../runtime/internal.ts';
import { FakeClock } from '../runtime/testing/index.ts';
import { countReplicas } from './replicas.ts';

const namespace = 'kidp-system';
const seconds = 30;
const look = 10_000;
let stop = new AbortController();
afterEach(() => {
  stop.abort();
  stop = new AbortController();
});

function counting() {
  const clock = new FakeClock();
  const cluster = memoryCluster([leases]);
  const replicas = countReplicas({ client: cluster.client, namespace, log: silentLogger, clock });
  void replicas.start(stop.signal);
  return {
    replicas,
    cluster,
    /** Advances past the next count. */
    later: (times = 1) => clock.advance(times * look),
    renew(identity: string, where = namespace) {
      const report = { identity, appliedVersion: '1', revision: 'r', absent: [] };
      cluster.put(leases, replicaLease(where, report, seconds, clock.now()) as never);
    },
  };
}

test('counts every replica of the namespace that renews its Lease, and at least this one', async () => {
  const { replicas, renew, later } = counting();
  expect(replicas.count(), 'before the first count').toBe(1);
  await later();
  expect(replicas.count(), 'without any Lease').toBe(1);
  for (const identity of ['one', 'two', 'three']) renew(identity);
  renew('four', 'elsewhere');
  await later();
  expect(replicas.count()).toBe(3);
});

test('stops counting a killed replica when its Lease expires, and a stopped one at once', async () => {
  const { replicas, cluster, renew, later } = counting();
  for (const identity of ['one', 'two', 'three']) renew(identity);
  await later();
  expect(replicas.count()).toBe(3);
  for (let at = 0; at <= seconds; at += look / 1000) {
    renew('one');
    renew('two');
    await later();
  }
  expect(replicas.count(), 'the third was silent for longer than its lease duration').toBe(2);
  cluster.remove(leases, { namespace, name: 'kidp-replica-two' });
  await later();
  expect(replicas.count()).toBe(1);
});

test('keeps the last count while the API server does not answer', async () => {
  const { replicas, cluster, renew, later } = counting();
  for (const identity of ['one', 'two']) renew(identity);
  await later();
  cluster.refuse('leases', new ApiError({ doing: 'list', status: 503, reason: 'ServiceUnavailable', message: 'no' }));
  await later(5);
  expect(replicas.count()).toBe(2);
  cluster.refuse('leases', undefined);
  for (const identity of ['one', 'two', 'three']) renew(identity);
  await later();
  expect(replicas.count()).toBe(3);
});

test('runs on every replica, leader or not, until it is stopped', async () => {
  const own = new AbortController();
  const clock = new FakeClock();
  const { client } = memoryCluster([leases]);
  const replicas = countReplicas({ client, namespace, log: silentLogger, clock });
  expect(replicas.leaderOnly).toBe(false);
  const running = replicas.start(own.signal);
  await clock.advance(look);
  own.abort();
  await clock.advance(look);
  await running;
  expect(clock.pending).toBe(0);
});
