/** Map lists are merged in the same order as by server-side apply of the API server, whatever their elements. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mergeConfiguration } from '../../src/policy/mutation/merge.ts';
import { kubernetesMergeType, type MergeType } from '../../src/policy/mutation/merge-type.ts';
import { type Client, connect, loadKubeconfig, type Resource, type UnknownObject } from '../../src/runtime/index.ts';
import { sharedCluster } from '../support/cluster.ts';

/** A kind with containers that no controller runs. */
const podTemplates: Resource = {
  group: '',
  version: 'v1',
  plural: 'podtemplates',
  kind: 'PodTemplate',
  namespaced: true,
};
const TYPE = kubernetesMergeType({ group: '', version: 'v1', kind: 'PodTemplate' }) as MergeType;
const cases = 40;

let client: Client;
let namespace: string;
beforeAll(async () => {
  const cluster = sharedCluster();
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  namespace = await cluster.uniqueNamespace('merge');
});
afterAll(() => client.close());

const names = fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e', 'f']);
const object = (name: string, env: readonly string[], value: string, more: object = {}): UnknownObject => ({
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name, namespace },
  template: {
    spec: { containers: [{ name: 'main', ...more, env: env.map((each) => ({ name: each, value })) }] },
  },
});

test('server-side apply and our merge return the same lists', async () => {
  const pairs = fc.sample(fc.tuple(names, names), { numRuns: cases, seed: 7 });
  const answers = await Promise.all(
    pairs.map(async ([before, after], index) => {
      const name = `case-${index}`;
      const stored = await client.create(podTemplates, object(name, before, 'before', { image: 'x' }));
      const partial = object(name, after, 'after');
      const applied = await client.apply(podTemplates, partial, { fieldManager: 'test', force: true, dryRun: true });
      const { object: merged } = mergeConfiguration(stored, partial, TYPE) as { object: UnknownObject };
      return { before, after, theirs: environmentOf(applied), ours: environmentOf(merged) };
    }),
  );
  expect(answers.map(({ before, after, ours }) => ({ before, after, list: ours }))).toEqual(
    answers.map(({ before, after, theirs }) => ({ before, after, list: theirs })),
  );
});

function environmentOf(object: UnknownObject): readonly string[] {
  const { template } = object as unknown as {
    template: { spec: { containers: { env?: { name: string; value: string }[] }[] } };
  };
  return (template.spec.containers[0]?.env ?? []).map(({ name, value }) => `${name}=${value}`);
}
