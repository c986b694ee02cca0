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

const unreachable = { code: 'cluster/unreachable', temporary: true };
const busy = { code: 'helm/failed', temporary: true };
const failed = { code: 'helm/failed', temporary: false };
const asking = 'Get "https://127.0.0.1:1/version"';
const conflict = 'the object has been modified; please apply your changes to the latest version and try again';

test.each([
  {
    reason: 'connection refused',
    said: `Kubernetes cluster unreachable: ${asking}: dial tcp: connection refused`,
    ...unreachable,
  },
  { reason: 'the connection breaks', said: `${asking}: EOF`, ...unreachable },
  { reason: 'it is closed', said: `UPGRADE FAILED: ${asking}: read: connection reset by peer`, ...unreachable },
  { reason: 'it is lost', said: `UPGRADE FAILED: ${asking}: http2: client connection lost`, ...unreachable },
  { reason: 'no TLS in time', said: `${asking}: net/http: TLS handshake timeout`, ...unreachable },
  { reason: 'no answer in time', said: `UPGRADE FAILED: ${asking}: context deadline exceeded`, ...unreachable },
  {
    reason: 'no answer in time, in other words',
    said: `${asking}: net/http: request canceled (Client.Timeout exceeded while awaiting headers)`,
    ...unreachable,
  },
  { reason: 'no address', said: `${asking}: dial tcp: lookup x on y: server misbehaving`, ...unreachable },
  {
    reason: 'another Helm',
    said: 'UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress',
    ...busy,
  },
  {
    reason: '409',
    said: `UPGRADE FAILED: Operation cannot be fulfilled on deployments.apps "shop": ${conflict}`,
    ...busy,
  },
  {
    reason: '429',
    said: 'UPGRADE FAILED: the server has received too many requests and has asked us to try again later (get pods)',
    ...busy,
  },
  { reason: '500', said: 'UPGRADE FAILED: Internal error occurred: resource quota evaluation timed out', ...busy },
  { reason: '502', said: 'an error on the server ("<html>") has prevented the request from succeeding', ...busy },
  { reason: '503', said: 'INSTALLATION FAILED: the server is currently unable to handle the request', ...busy },
  {
    reason: '504',
    said: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
    ...unreachable,
  },
  { reason: 'etcd elects', said: 'UPGRADE FAILED: create: failed to create: etcdserver: leader changed', ...busy },
  { reason: 'etcd is slow', said: 'UPGRADE FAILED: rpc error: etcdserver: request timed out', ...busy },
  { reason: 'too large for etcd', said: 'UPGRADE FAILED: create: etcdserver: request is too large', ...failed },
  {
    reason: 'a webhook is unavailable, not the cluster',
    said: `INSTALLATION FAILED: Internal error occurred: failed calling webhook "a.b": failed to call webhook: Post "https://a": dial tcp: connect: connection refused`,
    ...busy,
  },
  {
    reason: 'forbidden',
    said: 'INSTALLATION FAILED: deployments.apps "shop" is forbidden: User "x" cannot get resource',
    code: 'cluster/forbidden',
    temporary: false,
  },
  {
    reason: 'denied by admission',
    said: 'UPGRADE FAILED: admission webhook "a.b" denied the request: x is forbidden: connection refused',
    ...failed,
  },
  {
    reason: 'a hook does not end: another try would wait as long',
    said: 'UPGRADE FAILED: pre-upgrade hooks failed: resource Job/shops/a not ready. status: InProgress, message: x\ncontext deadline exceeded',
    ...failed,
  },
  {
    reason: 'a hook does not end, as Helm 3 says it',
    said: 'INSTALLATION FAILED: failed pre-install: timed out waiting for the condition',
    ...failed,
  },
  {
    reason: 'a value says what a server could say',
    said: 'UPGRADE FAILED: ConfigMap "shop" is invalid: data: Invalid value: "connection refused": no',
    ...failed,
  },
  { reason: 'anything else', said: 'UPGRADE FAILED: timed out', ...failed },
])('$reason: $code, $temporary', ({ said, code, temporary }) => {
  expect(helmFailure({ stderr: `Error: ${said}\n`, stdout: '' }, 'here', manifests)).toMatchObject({ code, temporary });
});

test('values of Secrets and environments are redacted', () => {
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
])('an error of the API server becomes $code', async ({ error, code, temporary }) => {
  const failed = onCluster('here', manifests, () => Promise.reject(error));
  await expect(failed).rejects.toMatchObject({ code, temporary, message: expect.not.stringContaining('opensesame') });
});
