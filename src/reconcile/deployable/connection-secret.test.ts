import { expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../api/index.ts';
import { RESOURCE_UID_LABEL, type StatusReport } from '../../broker/index.ts';
import { ApiError, type Client } from '../../runtime/index.ts';
import { kubernetesSecrets } from '../platform/resources.ts';
import { writeConnectionSecret } from './connection-secret.ts';
import type { Deployable } from './deployable.ts';

const object = (uid: string): Deployable => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Cache',
  metadata: { name: 'sessions', namespace: 'team', uid },
  spec: {},
});
const report = (uid: string): StatusReport => ({
  broker: 'b',
  deploymentId: `${uid}/1/1`,
  resource: { apiVersion: 'platform.company.com/v1', kind: 'Cache', namespace: 'team', name: 'sessions', uid },
  sequence: 1,
  phase: 'ready',
  credentials: { revision: uid, jwe: uid },
});
const key = { namespace: 'team', name: 'sessions-connection' };
const keep = (cluster: ReturnType<typeof memoryCluster>, uid: string) =>
  writeConnectionSecret(object(uid), report(uid), { client: cluster.client, decrypt: async (jwe) => ({ of: jwe }) });

test('without access to Secrets a report is not retried: the failure says what to do', async () => {
  const cluster = memoryCluster([]);
  const parts = { client: cluster.client, enabled: false, decrypt: async (jwe: string) => ({ of: jwe }) };
  expect(await writeConnectionSecret(object('first'), report('first'), parts)).toEqual({
    problem: expect.stringContaining('kubectl apply -k manifests/connections'),
    class: 'transient',
  });
});

test('the Secret of a deleted predecessor that is not garbage collected yet is replaced', async () => {
  const cluster = memoryCluster([kubernetesSecrets]);
  await keep(cluster, 'first');
  expect(await keep(cluster, 'second')).toEqual({ secret: { name: key.name, revision: 'second' } });
  const secret = cluster.get(kubernetesSecrets, key);
  expect(secret?.metadata.ownerReferences).toMatchObject([{ uid: 'second' }]);
  expect(secret?.data).toEqual({ of: Buffer.from('second').toString('base64') });
});

test.each([
  { reason: 'nobody’s', metadata: {} },
  {
    reason: 'a Secret of the platform for another object',
    metadata: {
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY },
      ownerReferences: [{ kind: 'Database', name: 'sessions', uid: 'other', controller: true }],
    },
  },
  {
    reason: 'an unmanaged Secret for an object of the same name',
    metadata: { ownerReferences: [{ kind: 'Cache', name: 'sessions', uid: 'other', controller: true }] },
  },
])('$reason is kept, and the report is rejected', async ({ metadata }) => {
  const cluster = memoryCluster([kubernetesSecrets]);
  cluster.put(kubernetesSecrets, { metadata: { ...key, ...metadata }, data: { a: 'Yg==' } });
  expect(await keep(cluster, 'second')).toMatchObject({ taken: true });
  expect(cluster.get(kubernetesSecrets, key)?.data).toEqual({ a: 'Yg==' });
});

test.each([
  {
    reason: 'is used if it was created for the object',
    uid: 'first',
    taken: { secret: { name: key.name, revision: 'first' } },
  },
  {
    reason: 'is rejected if it was created for another',
    uid: 'other',
    taken: { problem: expect.stringContaining('label') },
  },
])('a Secret that the broker wrote itself $reason', async ({ uid, taken }) => {
  const cluster = memoryCluster([kubernetesSecrets]);
  cluster.put(kubernetesSecrets, { metadata: { ...key, labels: { [RESOURCE_UID_LABEL]: uid } }, data: { a: 'Yg==' } });
  const credentials = { revision: 'first', secretRef: key };
  const kept = await writeConnectionSecret(
    object('first'),
    { ...report('first'), credentials },
    { client: cluster.client, decrypt: undefined },
  );
  expect(kept).toEqual(taken);
});

test.each([
  { reason: 'invalid values for its type', status: 422, kept: { problem: expect.stringContaining('no') } },
  {
    reason: 'a full quota',
    status: 403,
    message: 'exceeded quota: q',
    kept: { problem: expect.stringContaining('exceeded'), class: 'quota' },
  },
  {
    reason: 'a terminating namespace',
    status: 403,
    message: 'because it is being terminated',
    kept: { problem: expect.stringContaining('terminated'), class: 'transient' },
  },
  { reason: 'a quota that is not counted yet', status: 403, message: 'status unknown for quota: q', kept: 'again' },
  { reason: 'a too large Secret', status: 413, kept: { problem: expect.stringContaining('no') } },
  { reason: 'an unavailable API server', status: 503, kept: 'again' },
  {
    reason: 'an API server that has not loaded its RBAC rules yet',
    status: 403,
    message: 'secrets "users" is forbidden: User "kidp" cannot get resource "secrets" in API group ""',
    kept: 'again',
  },
])('a Secret that the API server rejects because of $reason', async ({ status, kept, message = 'no' }) => {
  const { client } = memoryCluster([kubernetesSecrets]);
  const refusing = {
    get: client.get,
    create: () => Promise.reject(new ApiError({ doing: 'create', status, reason: 'Refused', message })),
  } as unknown as Client;
  const keeping = writeConnectionSecret(object('first'), report('first'), {
    client: refusing,
    decrypt: async () => ({}),
  });
  expect(await keeping.catch(() => 'again')).toEqual(kept);
});
