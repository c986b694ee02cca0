/** Each CRD on each cluster counts as validated, also if there is nothing to compare with. */
import { expect, test } from 'vitest';
import { memoryCluster } from '../../../../../test/support/memory-cluster.ts';
import { definitionOf } from '../../../../../test/support/operator-charts.ts';
import type { ClusterConnection } from '../../../../fleet/index.ts';
import type { UnknownObject } from '../../../../runtime/index.ts';
import { CrdVerdicts, definitionResource } from './crd-verdicts.ts';

const definition = (maximum: number, name = 'shop') =>
  definitionOf({ name, version: '1.0.0', maximum }) as UnknownObject;

function clusterWith(...there: readonly UnknownObject[]): ClusterConnection {
  const cluster = memoryCluster([definitionResource]);
  for (const each of there) cluster.put(definitionResource, each as never);
  return { client: cluster.client } as ClusterConnection;
}

test.each([
  { reason: 'it is new', there: [], verdict: 'created' },
  { reason: 'it is unchanged', there: [definition(20)], verdict: 'unchanged' },
  { reason: 'it accepts more values', there: [definition(10)], verdict: 'safe' },
  { reason: 'it accepts fewer values', there: [definition(30)], verdict: 'breaking' },
])('a CRD is $verdict if $reason, and each comparison is counted', async ({ there, verdict }) => {
  let validated = 0;
  const verdicts = new CrdVerdicts(() => {
    validated += 1;
  });
  const on = (cluster: ClusterConnection) => verdicts.on(cluster, [definition(20)]);
  expect(await on(clusterWith(...there))).toMatchObject([{ verdict }]);
  // The comparison for another cluster with the same CRDs is cached, but still counts.
  expect(await on(clusterWith(...there))).toMatchObject([{ verdict }]);
  expect(validated).toBe(2);
});

test('counts each of several CRDs', async () => {
  let validated = 0;
  const verdicts = new CrdVerdicts(() => {
    validated += 1;
  });
  await verdicts.on(clusterWith(definition(20)), [definition(20), definition(20, 'cart')]);
  expect(validated).toBe(2);
});
