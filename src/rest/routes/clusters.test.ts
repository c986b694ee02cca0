import { expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';

import { ApiError, ConnectionError, silentLogger } from '../../runtime/index.ts';
import { coreSecrets } from '../../runtime/internal.ts';
import { takeBack } from './clusters.ts';

const key = { namespace: 'system', name: 'cluster-one-1' };
const answered = (status: number) => new ApiError({ doing: 'write', status, reason: 'Unknown', message: 'no' });

test.each([
  { reason: 'admission has refused the cluster', error: answered(403), stays: false },
  { reason: 'there is one of that name', error: answered(409), stays: false },
  { reason: 'the API server took too long, and may have stored it', error: answered(504), stays: true },
  { reason: 'the API server has failed', error: answered(500), stays: true },
  {
    reason: 'nobody has heard what became of it',
    error: new ConnectionError({ doing: 'write', failure: 'aborted', message: 'aborted', hint: '' }),
    stays: true,
  },
  { reason: 'it was stored, and the answer could not be read', error: new SyntaxError('no JSON'), stays: true },
])('the sealed kubeconfig where $reason', async ({ error, stays }) => {
  const cluster = memoryCluster([coreSecrets]);
  cluster.put(coreSecrets, { metadata: key });
  await takeBack(error, cluster.client, key, silentLogger);
  expect(cluster.get(coreSecrets, key) !== undefined).toBe(stays);
});
