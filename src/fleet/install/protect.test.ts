import { gzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { type MemoryCluster, memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Resource } from '../../runtime/index.ts';
import { definitionResource } from './definitions.ts';
import { keepAnnotation, protectRelease } from './protect.ts';
import { readRelease, revisionsOf } from './releases.ts';

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const name = { name: 'shop', namespace: 'shops' };

let cluster: MemoryCluster;
beforeEach(() => {
  cluster = memoryCluster([secrets, definitionResource]);
});

/** As Helm writes it. */
function put(revision: number, status: string, definitions: readonly string[]): void {
  const manifest = definitions
    .map((each) => `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ${each}}\n`)
    .join('---\n');
  const release = { name: name.name, info: { status }, chart: { metadata: { name: 'shop' } }, manifest };
  const packed = gzipSync(JSON.stringify(release)).toString('base64');
  cluster.put(secrets, {
    metadata: {
      name: `sh.helm.release.v1.shop.v${revision}`,
      namespace: name.namespace,
      labels: { owner: 'helm', name: name.name, status, version: String(revision) },
    },
    data: { release: Buffer.from(packed).toString('base64') },
  });
  for (const each of definitions) cluster.put(definitionResource, { metadata: { name: each } });
}

const isKept = (each: string) =>
  cluster.get(definitionResource, { name: each })?.metadata.annotations?.[keepAnnotation] === 'keep';

test.each([
  { reason: 'the newest is deployed', statuses: ['superseded', 'superseded', 'deployed'], kept: ['c'] },
  {
    reason: 'the newest has failed: Helm compares with the one that is deployed',
    statuses: ['superseded', 'deployed', 'failed'],
    kept: ['b', 'c'],
  },
  {
    reason: 'more than one has failed since',
    statuses: ['deployed', 'failed', 'failed'],
    kept: ['a', 'c'],
  },
  { reason: 'none is deployed', statuses: ['failed', 'failed', 'failed'], kept: ['c'] },
])('$reason', async ({ statuses, kept }) => {
  for (const [index, status] of statuses.entries()) put(index + 1, status, ['abc'.charAt(index)]);
  const [newest] = await revisionsOf(cluster.client, name);
  if (newest === undefined) throw new Error('there is no revision');
  await protectRelease(cluster.client, name, await readRelease(newest));
  expect(['a', 'b', 'c'].filter(isKept)).toEqual(kept);
});
