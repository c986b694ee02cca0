/** Each definition of each cluster is validated, whether or not there is anything to compare, and told of. */
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
  { reason: 'it is installed for the first time', there: [], verdict: 'created' },
  { reason: 'it is as it was', there: [definition(20)], verdict: 'unchanged' },
  { reason: 'it takes more', there: [definition(10)], verdict: 'safe' },
  { reason: 'it takes less', there: [definition(30)], verdict: 'breaking' },
])('a definition is $verdict where $reason, and counts as validated each time', async ({ there, verdict }) => {
  let validated = 0;
  const verdicts = new CrdVerdicts(() => {
    validated += 1;
  });
  const on = (cluster: ClusterConnection) => verdicts.on(cluster, [definition(20)]);
  expect(await on(clusterWith(...there))).toMatchObject([{ verdict }]);
  // On another cluster with the same definitions: the comparison is known, and it is a validation all the same.
  expect(await on(clusterWith(...there))).toMatchObject([{ verdict }]);
  expect(validated).toBe(2);
});

test('of several definitions each counts', async () => {
  let validated = 0;
  const verdicts = new CrdVerdicts(() => {
    validated += 1;
  });
  await verdicts.on(clusterWith(definition(20)), [definition(20), definition(20, 'cart')]);
  expect(validated).toBe(2);
});
