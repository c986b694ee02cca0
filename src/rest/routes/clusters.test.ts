import { expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';

import { ApiError, ConnectionError, silentLogger } from '../../runtime/index.ts';
import { coreSecrets } from '../../runtime/internal.ts';
import { deleteUnusedSecret } from './clusters.ts';

const key = { namespace: 'system', name: 'cluster-one-1' };
const answered = (status: number) => new ApiError({ doing: 'write', status, reason: 'Unknown', message: 'no' });

test.each([
  { reason: 'deleted if admission denied the cluster', error: answered(403), stays: false },
  { reason: 'deleted if the name is in use', error: answered(409), stays: false },
  { reason: 'kept if the API server timed out and may have stored it', error: answered(504), stays: true },
  { reason: 'kept if the API server failed', error: answered(500), stays: true },
  {
    reason: 'kept if the connection was lost',
    error: new ConnectionError({ doing: 'write', failure: 'aborted', message: 'aborted', hint: '' }),
    stays: true,
  },
  { reason: 'kept if it was stored and the response is unreadable', error: new SyntaxError('no JSON'), stays: true },
])('the sealed kubeconfig is $reason', async ({ error, stays }) => {
  const cluster = memoryCluster([coreSecrets]);
  cluster.put(coreSecrets, { metadata: key });
  await deleteUnusedSecret(error, cluster.client, key, silentLogger);
  expect(cluster.get(coreSecrets, key) !== undefined).toBe(stays);
});
