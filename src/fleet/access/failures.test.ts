import { describe, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import { ApiError, type Client, ConfigError, ConnectionError, type Resource } from '../../runtime/index.ts';
import type { ConnectionFailure } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { accessFailure, redactingClient } from './failures.ts';

const failures: ConnectionFailure[] = [
  'refused',
  'unresolved',
  'timeout',
  'reset',
  'certificate-expired',
  'certificate-untrusted',
  'certificate-name',
  'aborted',
  'too-large',
  'other',
];
const unconnected = (failure: ConnectionFailure) =>
  new ConnectionError({
    doing: 'list pods',
    failure,
    message: 'nothing answers at https://api.secret.example.com:6443',
    hint: 'Check https://api.secret.example.com:6443',
    cause: new Error('connect ECONNREFUSED api.secret.example.com'),
  });
const answered = (status: number, reason: string) =>
  new ApiError({
    doing: 'apply clusterroles.rbac.authorization.k8s.io kidp-observer',
    status,
    reason,
    message: 'User "secret" cannot',
  });

describe('an access failure', () => {
  test.each(failures)('no connection, %s: temporary, and without the address', (failure) => {
    const error = accessFailure('production', unconnected(failure)) as FleetError;
    expect(error).toMatchObject({ code: 'cluster/unreachable', temporary: true });
    expect(error.cause).toBeUndefined();
    expect(error.message).toContain('production');
    expect(`${error.message} ${error.stack}`).not.toContain('secret');
  });

  test.each([
    { error: answered(401, 'Unauthorized'), code: 'cluster/forbidden', says: 'rejects the credentials' },
    {
      error: answered(403, 'Forbidden'),
      code: 'cluster/forbidden',
      says: 'apply clusterroles.rbac.authorization.k8s.io kidp-observer',
    },
    { error: answered(500, 'InternalError'), code: 'cluster/unreachable', says: 'answered 500' },
    {
      error: new ConfigError({ code: 'x', message: 'secret', hint: 'secret' }),
      code: 'cluster/kubeconfig-refused',
      says: 'kidp clusters add production --replace',
    },
  ])('$code: $says', ({ error, code, says }) => {
    const failure = accessFailure('production', error) as FleetError;
    expect(failure).toMatchObject({ code });
    expect(failure.cause).toBeUndefined();
    expect(failure.message).toContain(says);
    expect(failure.message).not.toContain('secret');
  });

  test('other errors are returned unchanged', () => {
    const bug = new TypeError('a bug');
    expect(accessFailure('production', bug)).toBe(bug);
  });
});

describe('a redacting client', () => {
  const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
  const failing = (error: Error): Client => {
    const reject = () => Promise.reject(error);
    return {
      get: reject,
      list: reject,
      listEach: reject,
      // biome-ignore lint/correctness/useYield: it fails before there is anything
      async *watch() {
        throw error;
      },
      create: reject,
      update: reject,
      patch: reject,
      apply: reject,
      delete: reject,
      request: reject,
      impersonate: () => failing(error),
      close: async () => {},
    };
  };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'b' } };
  const key = { namespace: 'b', name: 'a' };
  const asks: [string, (client: Client) => Promise<unknown>][] = [
    ['get', (client) => client.get(pods, key)],
    ['list', (client) => client.list(pods)],
    ['listEach', (client) => client.listEach?.(pods, {}, () => {}) ?? Promise.resolve()],
    [
      'watch',
      async (client) => {
        for await (const _ of client.watch(pods)) return;
      },
    ],
    ['create', (client) => client.create(pods, pod)],
    ['update', (client) => client.update(pods, pod)],
    ['patch', (client) => client.patch(pods, key, { type: 'merge', body: {} })],
    ['apply', (client) => client.apply(pods, pod, { fieldManager: 'test' })],
    ['delete', (client) => client.delete(pods, key)],
    ['request', (client) => client.request({ method: 'GET', path: '/' })],
    ['as another', (client) => client.impersonate({ user: 'a' }).list(pods)],
  ];

  test.each(asks)('%s', async (_name, ask) => {
    const error = await ask(redactingClient(failing(unconnected('refused')), 'production')).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ failure: 'refused' });
    expect((error as Error).cause).toBeUndefined();
    expect(String(error)).not.toContain('secret');
    expect(String(error)).toContain('production');
  });

  test('passes answers of the cluster and our own messages', async () => {
    const missing = answered(404, 'NotFound');
    await expect(redactingClient(failing(missing), 'production').list(pods)).rejects.toBe(missing);
    const own = new FleetError('cluster/unknown', 'gone');
    const wrapped = new ConnectionError({ doing: 'x', failure: 'other', message: 'y', hint: 'z', cause: own });
    await expect(redactingClient(failing(wrapped), 'production').list(pods)).rejects.toBe(own);
  });

  test('is otherwise the same client', async () => {
    const memory = memoryCluster([pods]);
    memory.put(pods, pod);
    const { items } = await redactingClient(memory.client, 'production').list(pods);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a']);
  });
});
