import { expect, test } from 'vitest';
import { ApiError, ConnectionError, type UnknownObject } from '../../runtime/index.ts';
import { helmFailure, helmLine, onCluster } from './failures.ts';

const manifests = [
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'shop', namespace: 'shops' },
    data: { a: Buffer.from('hunter2').toString('base64') },
    stringData: { b: 'opensesame' },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop' },
    spec: {
      template: {
        spec: { containers: [{ name: 'a', env: [{ name: 'KEY', value: 'abracadabra' }, { name: 'NONE' }] }] },
      },
    },
  },
] as unknown as readonly UnknownObject[];

test.each([
  {
    reason: 'nobody answers',
    stderr: 'Error: Kubernetes cluster unreachable: Get "https://127.0.0.1:1/version": dial tcp: connection refused\n',
    code: 'cluster/unreachable',
    temporary: true,
  },
  {
    reason: 'it may not',
    stderr: 'Error: INSTALLATION FAILED: deployments.apps "shop" is forbidden: User "x" cannot get resource\n',
    code: 'cluster/forbidden',
    temporary: false,
  },
  {
    reason: 'admission has refused',
    stderr: 'Error: UPGRADE FAILED: admission webhook "a.b" denied the request: x is forbidden: no\n',
    code: 'helm/failed',
    temporary: false,
  },
  { reason: 'anything else', stderr: 'Error: UPGRADE FAILED: timed out\n', code: 'helm/failed', temporary: false },
])('$reason: $code', ({ stderr, code, temporary }) => {
  expect(helmFailure({ stderr, stdout: '' }, 'here', manifests)).toMatchObject({ code, temporary });
});

test('nothing that is in a Secret or an environment is repeated', () => {
  const said = `level=WARN msg=x hunter2 ${Buffer.from('hunter2').toString('base64')} opensesame abracadabra "shop"`;
  expect(helmLine(said, manifests)).toBe('level=WARN msg=x … … … … "shop"');
  expect(helmFailure({ stderr: `Error: ${said}`, stdout: '' }, 'here', manifests).message).not.toMatch(
    /hunter2|open|abra/,
  );
});

const api = (status: number) => new ApiError({ doing: 'get x', status, reason: 'Because', message: 'no "opensesame"' });

test.each([
  { error: api(403), code: 'cluster/forbidden', temporary: false },
  { error: api(409), code: 'helm/failed', temporary: true },
  { error: api(422), code: 'helm/failed', temporary: false },
  { error: api(503), code: 'helm/failed', temporary: true },
  {
    error: new ConnectionError({ doing: 'get x', failure: 'refused', message: 'no', hint: 'ask' }),
    code: 'cluster/unreachable',
    temporary: true,
  },
])('what the API server says becomes $code', async ({ error, code, temporary }) => {
  const failed = onCluster('here', manifests, () => Promise.reject(error));
  await expect(failed).rejects.toMatchObject({ code, temporary, message: expect.not.stringContaining('opensesame') });
});
