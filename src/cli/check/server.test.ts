import { expect, test } from 'vitest';
import type { RawRequest, RawResponse } from '../../runtime/internal.ts';
import { noProgress } from '../common/progress.ts';
import { parseObjects } from '../documents/index.ts';
import type { Cluster } from './cluster.ts';
import { askServer } from './server.ts';

const [pod] = parseObjects(
  'apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\nspec:\n  x: 1\n',
  'a.yaml',
);

async function asked(answer: Partial<RawResponse>) {
  const requests: RawRequest[] = [];
  const cluster = {
    client: {
      request: async (request: RawRequest) => {
        requests.push(request);
        return { status: 200, headers: {}, warnings: [], text: '{}', ...answer };
      },
    },
    mapping: { byKind: () => ({ group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true }) },
  } as unknown as Cluster;
  const results = pod === undefined ? [] : await askServer([pod], cluster, noProgress);
  return { results, requests };
}
const words = (results: Awaited<ReturnType<typeof asked>>['results']) =>
  results.map(
    ({ result, policy, rule, message, resource, denies }) =>
      `${resource.line} ${result} ${policy}/${rule}: ${message}${denies ? ' (denies)' : ''}`,
  );
const status = (message: string, causes: object[] = []) =>
  JSON.stringify({ kind: 'Status', message, details: { causes } });

const rows: { reason: string; answer: Partial<RawResponse>; words: string[] }[] = [
  { reason: 'admitted', answer: {}, words: ['1 pass api-server/: admitted by the API server'] },
  {
    reason: 'admitted with a warning',
    answer: { warnings: ['careful'] },
    words: ['1 warn api-server/: careful', '1 pass api-server/: admitted by the API server'],
  },
  {
    reason: 'our webhook reports policy, rule and field of each',
    answer: {
      status: 403,
      text: status(
        'admission webhook "validate.kidp.platform.company.com" denied the request: ownership: no owner. Name one.\npolicy images (binding b), rule registry: ours only: x is 1',
        [
          { reason: 'OwnerMissing', field: 'metadata.name', message: 'no owner' },
          { reason: 'registry', field: 'spec.x', message: 'ours only: x is 1' },
        ],
      ),
    },
    words: ['3 fail ownership/OwnerMissing: no owner (denies)', '5 fail images/registry: ours only: x is 1 (denies)'],
  },
  {
    reason: 'a policy of Kubernetes itself',
    answer: {
      status: 422,
      text: status(`pods "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`, [
        { message: `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no` },
      ]),
    },
    words: [`1 fail p/: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no (denies)`],
  },
  {
    reason: "somebody else's webhook",
    answer: { status: 403, text: status('admission webhook "other" denied the request: no') },
    words: ['1 fail other/: admission webhook "other" denied the request: no (denies)'],
  },
  {
    reason: 'a schema that it does not fit',
    answer: {
      status: 422,
      text: status('Pod "a" is invalid', [{ reason: 'FieldValueInvalid', field: 'spec.x', message: 'too small' }]),
    },
    words: ['5 fail api-server/FieldValueInvalid: too small (denies)'],
  },
  {
    reason: 'a question that did not come that far',
    answer: { status: 404, text: status('namespaces "shop" not found') },
    words: ['1 error api-server/: namespaces "shop" not found (denies)'],
  },
  {
    reason: 'an answer that is no status',
    answer: { status: 502, text: 'bad gateway' },
    words: ['1 error api-server/: bad gateway (denies)'],
  },
];
test.each(rows)('$reason', async ({ answer, words: expected }) => {
  expect(words((await asked(answer)).results)).toEqual(expected);
});

test('asks by server-side apply, and only for show', async () => {
  const { requests } = await asked({});
  expect(requests).toMatchObject([
    {
      method: 'PATCH',
      path: '/api/v1/namespaces/shop/pods/a',
      query: { dryRun: 'All', force: 'true' },
      contentType: 'application/apply-patch+yaml',
    },
  ]);
});
