/**
 * The table in src/policy/mutation/kubernetes-types.ts defines how the kinds of Kubernetes merge. It is generated from
 * the OpenAPI documents of the API server: `npx vitest run --project integration test/policy/merge-types.test.ts -u`
 * updates it.
 */
import { expect, test } from 'vitest';
import { sharedCluster } from '../support/cluster.ts';
import { mergeTypes, type OpenApi } from './support/merge-types.ts';

/** The group versions of Kubernetes itself; custom resources have their own schema. */
const OWN = /^(?:api\/v1|apis\/(?:[a-z]+|[a-z.]+\.k8s\.io)\/v\d+)$/;

test('the table of merge types matches the API server', async () => {
  const cluster = sharedCluster();
  const raw = async (path: string): Promise<unknown> => {
    const { stdout, stderr, code } = await cluster.kubectl(['get', '--raw', path]);
    if (code !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  };
  const { paths } = (await raw('/openapi/v3')) as { paths: Record<string, { serverRelativeURL: string }> };
  const served = Object.keys(paths).filter((path) => OWN.test(path));
  const documents: OpenApi[] = [];
  for (const path of served) documents.push((await raw(paths[path]?.serverRelativeURL ?? '')) as OpenApi);
  const text = [
    '/**',
    ' * The merge types of the built-in kinds of Kubernetes 1.36, in the format of merge-type.ts. Generated from the OpenAPI',
    ' * documents of the API server by test/policy/merge-types.test.ts.',
    ' */',
    'export const KUBERNETES_TYPES = `',
    mergeTypes(documents),
    '`;',
    '',
  ].join('\n');
  await expect(text).toMatchFileSnapshot('../../src/policy/mutation/kubernetes-types.ts');
});
