import { expect, test } from 'vitest';
import { leaseResource, policyCluster } from '../../../test/support/live-policies.ts';
import { readReplicaLease } from '../../api/index.ts';
import type { Lease } from '../../runtime/internal.ts';
import { eventually } from '../../runtime/testing/index.ts';
import { startReplicaReport } from './replica-report.ts';
import { startPolicySource } from './source.ts';

test('a ready replica reports its policy set, again on every change, and deletes its report when it stops', async () => {
  const cluster = policyCluster();
  const source = startPolicySource({
    client: cluster.client,
    platformNamespace: 'kidp-system',
    exceptionNamespaces: [],
  });
  await source.whenSynced();
  let ready = false;
  const reporting = startReplicaReport({ client: cluster.client, source, identity: 'one', ready: () => ready });
  const key = { namespace: 'kidp-system', name: 'kidp-replica-one' };
  const report = () => {
    const lease = cluster.get(leaseResource, key);
    return lease === undefined ? undefined : readReplicaLease(lease as unknown as Lease);
  };
  cluster.putPolicy('first', 'true');
  await eventually(() => source.current().set.policies.length === 1);
  expect(report()).toBeUndefined();
  ready = true;
  cluster.putPolicy('broken', '(');
  cluster.putPolicy('second', 'true');
  await eventually(() => report()?.absent.join() === 'broken');
  expect(report()).toMatchObject({ identity: 'one', revision: source.current().set.revision, absent: ['broken'] });
  expect(report()?.appliedVersion).toBe(source.appliedVersion);
  await reporting.stop();
  expect(report()).toBeUndefined();
  await source.stop();
});
