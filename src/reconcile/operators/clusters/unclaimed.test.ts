import { expect, test } from 'vitest';
import { memoryCluster } from '../../../../test/support/memory-cluster.ts';
import { type Cluster, cluster as clusterKind } from '../../../api/index.ts';
import type { SecretObject } from '../../../fleet/index.ts';
import { silentLogger } from '../../../runtime/index.ts';
import { coreSecrets } from '../../../runtime/internal.ts';
import { eraseUnclaimed } from './unclaimed.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const namespace = 'kidp-system';
const secret = (name: string, minutesAgo: number) =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, creationTimestamp: new Date(now - minutesAgo * 60_000).toISOString() },
  }) as unknown as SecretObject & { metadata: { name: string } };
const cluster = (name: string, secretName?: string) =>
  ({ metadata: { name }, spec: { credentials: secretName === undefined ? {} : { secretName } } }) as unknown as Cluster;

test.each([
  {
    reason: 'referenced by the default name',
    secrets: [secret('cluster-a', 90)],
    clusters: [cluster('a')],
    left: ['cluster-a'],
  },
  {
    reason: 'referenced by spec.credentials',
    secrets: [secret('any', 90)],
    clusters: [cluster('a', 'any')],
    left: ['any'],
  },
  { reason: 'younger than the limit', secrets: [secret('cluster-a', 59)], clusters: [], left: ['cluster-a'] },
  { reason: 'older than the limit', secrets: [secret('cluster-a', 61)], clusters: [], left: [] },
  {
    reason: 'replaced by another Secret',
    secrets: [secret('old', 90), secret('new', 90)],
    clusters: [cluster('a', 'new')],
    left: ['new'],
  },
  {
    reason: 'referenced by a Cluster that is not in the cache yet',
    secrets: [secret('cluster-a', 90)],
    clusters: [cluster('a')],
    cached: [],
    left: ['cluster-a'],
  },
])('$reason: keeps $left', async ({ secrets, clusters, cached, left }) => {
  const memory = memoryCluster([coreSecrets, clusterKind.resource]);
  for (const each of secrets) memory.put(coreSecrets, each as never);
  for (const each of clusters) memory.put(clusterKind.resource, each as never);
  await eraseUnclaimed({
    client: memory.client,
    secrets,
    clusters: cached ?? clusters,
    now,
    patienceMilliseconds: 3_600_000,
    log: silentLogger,
  });
  const { items } = await memory.client.list(coreSecrets);
  expect(items.map(({ metadata }) => metadata.name)).toEqual(left);
});
