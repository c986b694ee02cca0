/**
 * How the kinds of Kubernetes merge is a table in src/policy/mutation/kubernetes-types.ts. It is what the API server
 * says in its OpenAPI documents; `npx vitest run --project integration test/policy/merge-types.test.ts -u` writes it
 * again.
 */
import { expect, test } from 'vitest';
import { sharedCluster } from '../support/cluster.ts';
import { mergeTypes, type OpenApi } from './support/merge-types.ts';

/** What is not Kubernetes' own: custom resources bring their schema with them. */
const OWN = /^(?:api\/v1|apis\/(?:[a-z]+|[a-z.]+\.k8s\.io)\/v\d+)$/;

test('the table of merge types is what the API server says', async () => {
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
    ' * How the kinds of Kubernetes 1.36 merge, as merge-type.ts reads it. Written by test/policy/merge-types.test.ts from what the',
    ' * API server says of itself.',
    ' */',
    'export const KUBERNETES_TYPES = `',
    mergeTypes(documents),
    '`;',
    '',
  ].join('\n');
  await expect(text).toMatchFileSnapshot('../../src/policy/mutation/kubernetes-types.ts');
});
