import { test } from 'vitest';
import { leaseResource, policyCluster } from '../../../test/support/live-policies.ts';
import { replicaLease } from '../../api/index.ts';
import { silentLogger, systemClock } from '../../runtime/index.ts';
import type { Lease } from '../../runtime/internal.ts';
import { eventually } from '../../runtime/testing/index.ts';
import { silentReplicas } from './sweep.ts';

test('the Lease of a dead replica is deleted, and that of a live one is kept', async () => {
  const cluster = policyCluster();
  const report = (identity: string, renewed: number) => {
    const made = replicaLease('n', { identity, appliedVersion: '1', revision: 'r', absent: [] }, 1, renewed);
    cluster.put(leaseResource, made as never);
  };
  const reported = () => ['gone', 'there'].filter((each) => cluster.get(leaseResource, keyOf(each)) !== undefined);
  const keyOf = (identity: string) => ({ namespace: 'n', name: `kidp-replica-${identity}` });
  report('gone', 0);
  let renewed = 0;
  const stop = new AbortController();
  const sweeping = silentReplicas({
    client: cluster.client,
    reports: () => {
      report('there', renewed++);
      return ['gone', 'there'].flatMap((each) => (cluster.get(leaseResource, keyOf(each)) as Lease | undefined) ?? []);
    },
    clock: systemClock,
    log: silentLogger,
    periodMilliseconds: 50,
  }).start(stop.signal);
  await eventually(() => reported().join() === 'there');
  stop.abort();
  await sweeping;
});
