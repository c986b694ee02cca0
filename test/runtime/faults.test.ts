/** What can happen between a client and an API server, done to a real one: nothing that changed may stay unknown. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../src/controlplane/index.ts';
import {
  ApiError,
  type Client,
  type ClusterConfig,
  connect,
  isTooManyRequests,
  type KubernetesObject,
  loadKubeconfig,
  type Resource,
} from '../../src/runtime/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { churn, configMaps, createNamespace, type Follower, follow, persistently } from './support/churn.ts';
import { startHttpProxy, startTcpProxy } from './support/fault-proxy.ts';

let controlPlane: ControlPlane;
let config: ClusterConfig;
/** Straight to the server: writes, and says what is true. */
let direct: Client;
let namespace: string;
let cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  controlPlane = await startControlPlane();
  direct = connect(loadKubeconfig({ file: controlPlane.kubeconfig }));
});

afterAll(async () => {
  await direct?.close();
  await controlPlane?.stop();
});

beforeEach(async () => {
  // Its authority may have been replaced by the test before.
  config = loadKubeconfig({ file: controlPlane.kubeconfig });
  namespace = await createNamespace(direct, uniqueName('faults'));
});

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

function cleanLater<T extends { close(): unknown } | { stop(): unknown }>(thing: T): T {
  cleanups.push(() => ('close' in thing ? thing.close() : thing.stop()));
  return thing;
}

async function followSynced(client: Client, options: Parameters<typeof follow>[2] = {}): Promise<Follower> {
  const follower = cleanLater(follow(client, namespace, options));
  await follower.reflector.synced();
  return follower;
}

const write = (tag: string, writes = 40) => churn(direct, { namespace, names: 12, writes, tag });

async function letRead(subject: object): Promise<void> {
  const role: Resource = {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    plural: 'roles',
    kind: 'Role',
    namespaced: true,
  };
  const metadata = { name: 'reader', namespace };
  await direct.create(role, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata,
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }],
  });
  await direct.create(
    { ...role, plural: 'rolebindings', kind: 'RoleBinding' },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [subject],
    },
  );
}

describe('a reflector', () => {
  it('goes on after the API server was killed and started again', async () => {
    await write('before');
    const follower = await followSynced(cleanLater(connect(config)));
    await controlPlane.apiServer.kill();
    const writing = write('during');
    await controlPlane.apiServer.start();
    await writing;
    await write('after');
    await follower.agree(direct);
    expect(follower.relists, 'the history was still there, so no list was needed').toBe(0);
  });

  it('lists again, and reports what vanished, when the history was compacted while it was away', async () => {
    await write('before');
    const proxy = cleanLater(await startTcpProxy(() => controlPlane.url));
    const follower = await followSynced(cleanLater(connect(proxy.config(config))));
    proxy.open = false;
    proxy.cut();
    await write('unseen');
    for (const { metadata } of (await direct.list(configMaps, { namespace })).items) {
      await direct.delete(configMaps, metadata);
    }
    await direct.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: 'newcomer' } });
    await controlPlane.etcd.compact();
    await controlPlane.apiServer.kill();
    await controlPlane.apiServer.start();
    proxy.open = true;
    await follower.agree(direct);
    expect(follower.relists).toBeGreaterThan(0);
    expect([...follower.replica().keys()]).toEqual(['newcomer']);
    expect(follower.reported.at(-1)?.type).toBe('deleted');
  });

  it('goes on after etcd stood still', async () => {
    await write('before');
    const follower = await followSynced(cleanLater(connect(config)));
    const [member] = controlPlane.etcd.members;
    member?.pause();
    let written = false;
    const writing = write('during', 10).then(() => {
      written = true;
    });
    try {
      await sleep(4_000);
      expect(written, 'nothing is written while etcd stands still').toBe(false);
    } finally {
      member?.resume();
    }
    await writing;
    await write('after');
    await follower.agree(direct);
  });

  it('goes on under a new certificate of the same authority', async () => {
    const follower = await followSynced(cleanLater(connect(config)));
    await write('before');
    // Killed first, because it would wait for its watches before it stops.
    await controlPlane.apiServer.kill();
    await controlPlane.replaceServingCertificate({ authority: 'same', restart: true });
    await write('after');
    await follower.agree(direct);
  });

  it('trusts a new authority once its file was replaced', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kidp-faults-'));
    cleanups.push(() => rm(directory, { recursive: true }));
    const file = join(directory, 'ca.crt');
    await writeFile(file, controlPlane.authority);
    const { origin: _kubeconfig, ...plain } = config;
    const client = cleanLater(
      connect({ ...plain, certificateAuthority: { file } }, { recheckMilliseconds: 3_600_000 }),
    );
    const follower = await followSynced(client);
    await controlPlane.apiServer.kill();
    await controlPlane.replaceServingCertificate({ authority: 'new', restart: true });
    await until(() => follower.reflector.status.state === 'failing');
    expect(follower.reflector.status).toMatchObject({ error: { failure: 'certificate-untrusted' } });
    await writeFile(file, controlPlane.authority);
    // `direct` has its authority from the kubeconfig, which was rewritten: it reads that again too.
    await write('after');
    await follower.agree(direct);
  });

  it('picks up where a watch was cut in the middle of an object', async () => {
    const proxy = cleanLater(await startHttpProxy(config));
    let cuts = 0;
    proxy.fault = ({ url }) => {
      if (!url.includes('watch=true') || cuts >= 8) return undefined;
      cuts += 1;
      return { cutAfterBytes: 350 + cuts * 37 };
    };
    const follower = await followSynced(cleanLater(connect(proxy.config)));
    await write('cut', 60);
    await until(() => cuts >= 8);
    await write('whole');
    await follower.agree(direct);
    expect(follower.relists).toBe(0);
  });

  it('waits as long as it is asked to with 429, for lists and for watches', async () => {
    const proxy = cleanLater(await startHttpProxy(config));
    const refused = { list: 0, watch: 0 };
    proxy.fault = ({ url }) => {
      const verb = url.includes('watch=true') ? 'watch' : 'list';
      refused[verb] += 1;
      return refused[verb] <= 2 ? { status: 429, headers: { 'retry-after': '1' } } : undefined;
    };
    const follower = await followSynced(cleanLater(connect(proxy.config)));
    await write('put off');
    await follower.agree(direct);
    expect(refused.list).toBe(3);
    expect(refused.watch).toBe(3);
  });

  it('misses nothing where every tenth connection is reset', async () => {
    const proxy = cleanLater(await startTcpProxy(() => controlPlane.url));
    const client = cleanLater(connect(proxy.config(config)));
    const follower = await followSynced(client, { watchSeconds: 1 });
    proxy.resetFraction = 0.1;
    // The writer goes through the same proxy, on a new connection each time.
    for (let round = 0; round < 30; round += 1) {
      const writer = connect(proxy.config(config));
      await churn(writer, { namespace, names: 12, writes: 4, tag: `round-${round}` });
      await writer.close();
      if (round % 5 === 0) proxy.cut();
    }
    await follower.agree(direct);
    expect(proxy.connections).toBeGreaterThan(30);
  });

  it('reports that it must not list, retries, and recovers once it may', async () => {
    const restricted = cleanLater(
      connect(loadKubeconfig({ file: await controlPlane.kubeconfigFor({ name: 'reader' }) })),
    );
    await write('before');
    const states: string[] = [];
    const follower = cleanLater(
      follow(restricted, namespace, { observer: { status: ({ state }) => states.push(state) } }),
    );
    await until(() => follower.reflector.status.state === 'failing');
    expect(follower.reflector.status).toMatchObject({ error: { status: 403, reason: 'Forbidden' } });
    expect(follower.reflector.hasSynced).toBe(false);
    await letRead({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'reader' });
    await follower.reflector.synced();
    await until(() => follower.reflector.status.state === 'watching');
    await write('after');
    await follower.agree(direct);
    expect(states).toContain('failing');
  });
});

describe('a client', () => {
  const serviceAccounts: Resource = {
    group: '',
    version: 'v1',
    plural: 'serviceaccounts',
    kind: 'ServiceAccount',
    namespaced: true,
  };
  const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };

  it('reads a token again that was rotated on disk, when the old one is refused and before, and follows on with it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kidp-faults-'));
    cleanups.push(() => rm(directory, { recursive: true }));
    const file = join(directory, 'token');
    await direct.create(serviceAccounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace, name: 'worker' },
    });
    const tokenBoundTo = async (name: string) => {
      const secret = await direct.create<KubernetesObject>(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace, name },
      });
      const request = await direct.create(
        serviceAccounts,
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          metadata: { namespace, name: 'worker' },
          spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name, uid: secret.metadata.uid } },
        },
        { subresource: 'token' },
      );
      return (request as unknown as { status: { token: string } }).status.token;
    };
    const first = await tokenBoundTo('first');
    const second = await tokenBoundTo('second');
    await writeFile(file, first);
    const { origin: _kubeconfig, clientCertificate: _certificate, clientKey: _key, ...anonymous } = config;
    const withFile = (recheckMilliseconds: number) =>
      cleanLater(connect({ ...anonymous, token: { file } }, { recheckMilliseconds }));
    const whoAmI = async (client: Client) => {
      const { text } = await client.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      });
      const { userInfo } = (
        JSON.parse(text) as { status: { userInfo: { username: string; extra: Record<string, string[]> } } }
      ).status;
      return `${userInfo.username} ${userInfo.extra['authentication.kubernetes.io/credential-id']?.[0]}`;
    };
    const looksOnRefusal = withFile(3_600_000);
    const looksAlways = withFile(0);
    const before = await whoAmI(looksOnRefusal);
    expect(before).toContain(`system:serviceaccount:${namespace}:worker`);
    expect(await whoAmI(looksAlways)).toBe(before);
    await letRead({ kind: 'ServiceAccount', name: 'worker', namespace });
    const proxy = cleanLater(await startTcpProxy(() => controlPlane.url));
    const behind = cleanLater(
      connect({ ...proxy.config(anonymous), token: { file } }, { recheckMilliseconds: 3_600_000 }),
    );
    const follower = await followSynced(behind);
    await write('first');
    await follower.agree(direct);

    await writeFile(file, second);
    expect(await whoAmI(looksAlways), 'another credential of the same user').not.toBe(before);
    await direct.delete(secrets, { namespace, name: 'first' });
    const old = cleanLater(connect({ ...anonymous, token: { data: first } }));
    // The server remembers for ten seconds that a token was good.
    await persistently(async () => {
      const refusal = await whoAmI(old).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(refusal).toBeInstanceOf(ApiError);
    });
    await expect(whoAmI(old)).rejects.toMatchObject({ status: 401, message: expect.stringContaining('log in again') });
    // A watch that is open stays open; the next is refused with the first token.
    proxy.cut();
    await write('second');
    await follower.agree(direct);
    expect(follower.relists, 'it went on from where it was').toBe(0);
    expect(await whoAmI(looksOnRefusal), 'refused with the first token, it found the second').not.toBe(before);
  });

  it('repeats what was put off with Retry-After, but not where that may be the answer, and not for ever', async () => {
    const proxy = cleanLater(await startHttpProxy(config));
    const client = cleanLater(connect(proxy.config, { retries: 2 }));
    let left = 2;
    proxy.fault = () => (left-- > 0 ? { status: 429, headers: { 'retry-after': '0' } } : undefined);
    await client.list(configMaps, { namespace });
    expect(proxy.requests).toHaveLength(3);

    left = 1;
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: 'posted' } };
    await client.create(configMaps, object);
    expect(proxy.requests).toHaveLength(5);

    left = 1;
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name: 'nobody' } };
    await expect(
      client.create({ ...configMaps, plural: 'pods', kind: 'Pod' }, eviction, { subresource: 'eviction' }),
    ).rejects.toSatisfy(isTooManyRequests);
    expect(proxy.requests).toHaveLength(6);

    left = 100;
    await expect(client.list(configMaps, { namespace })).rejects.toMatchObject({ status: 429, retryAfterSeconds: 0 });
    expect(proxy.requests).toHaveLength(9);

    left = 1;
    proxy.fault = () => (left-- > 0 ? { status: 503, headers: { 'retry-after': '3600' } } : undefined);
    await expect(client.list(configMaps, { namespace })).rejects.toMatchObject({
      status: 503,
      retryAfterSeconds: 3600,
    });
    expect(proxy.requests, 'it did not wait for what cannot come in time').toHaveLength(10);
  });
});

async function until(holds: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 240_000; !holds(); ) {
    if (performance.now() > deadline) throw new Error(`still not so after four minutes: ${String(holds)}`);
    await sleep(100);
  }
}
