/** Certificates in the Secrets and Leases of a real API server, and their rotation under load. The long run is `npm run soak -- certificates`. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type Authority,
  type AuthorityOptions,
  type Client,
  clusterStore,
  connect,
  isNotFound,
  type KubernetesObject,
  loadKubeconfig,
  type Resource,
  startAuthority,
} from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { run } from '../soak/certificates.ts';
import { sharedCluster, startControlPlane } from '../support/cluster.ts';

interface Secret extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
  immutable?: boolean;
}

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
const cluster = sharedCluster();
let client: Client;
let namespace: string;
const running: Authority[] = [];

beforeAll(async () => {
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
});
afterEach(async () => {
  for (const authority of running.splice(0)) await authority.stop();
});
afterAll(() => client.close());

async function start(identity: string, over: Partial<AuthorityOptions> & { client?: Client } = {}): Promise<Authority> {
  const { client: through = client, ...options } = over;
  const authority = await startAuthority({
    store: clusterStore({ client: through, namespace, name: 'serving' }),
    identity,
    names: ['localhost'],
    settleMilliseconds: 500,
    resyncMilliseconds: 100,
    ...options,
  });
  running.push(authority);
  return authority;
}

const secret = (name: string) => client.get<Secret>(secrets, { namespace, name });
const field = async (name: string) => Buffer.from((await secret('serving')).data?.[name] ?? '', 'base64').toString();
const certificatesIn = (pem: string) => pem.split('BEGIN CERTIFICATE').length - 1;

describe('replicas that share certificates in a Secret', () => {
  beforeAll(async () => {
    namespace = await cluster.uniqueNamespace('certificates');
  });

  test('end with one authority and one leaf when they start at once', async () => {
    const replicas = await Promise.all(['a', 'b', 'c', 'd'].map((identity) => start(identity)));
    await eventually(() => new Set(replicas.map((replica) => replica.current().certificate)).size === 1);
    const stored = await secret('serving');
    expect(stored.type).toBe('kubernetes.io/tls');
    expect(await field('tls.crt')).toBe(replicas[0]?.current().certificate);
    expect(certificatesIn(await field('ca.crt'))).toBe(1);
    const keys = await secret('serving-authorities');
    expect(Object.keys(keys.data ?? {})).toHaveLength(2);
    // Whoever may only serve cannot sign.
    expect(JSON.stringify(stored.data)).not.toContain(Object.values(keys.data ?? {})[1]);
  });

  test('have a Lease each while they run, and none after', async () => {
    const authority = await start('pod_1.with/odd:characters');
    const selector = { namespace, labelSelector: 'platform.company.com/certificates-of=serving' };
    // What it serves is in a report of its own, after the one that says it lives.
    await eventually(async () => {
      const { items } = await client.list(leases, selector);
      expect(items).toHaveLength(1);
      return /^[0-9a-f]{64}$/.test(items[0]?.metadata.annotations?.['platform.company.com/serves-authority'] ?? '');
    });
    await authority.stop();
    expect((await client.list(leases, selector)).items).toEqual([]);
  });

  test('bring the Secret back as it was when somebody deletes it', async () => {
    const authority = await start('a');
    const leaf = authority.current().certificate;
    await client.delete(secrets, { namespace, name: 'serving' });
    await eventually(async () => (await field('tls.crt')) === leaf);
    expect(authority.current().certificate).toBe(leaf);
  });

  const garbage: { reason: string; secret: Partial<Secret> }[] = [
    {
      reason: 'garbage in every field',
      secret: { type: 'kubernetes.io/tls', data: { 'tls.crt': 'eA==', 'tls.key': 'eA==', 'ca.crt': 'eA==' } },
    },
    { reason: 'another type, which cannot be changed', secret: { type: 'Opaque', data: { note: 'aGVsbG8=' } } },
  ];
  test.each(garbage)('replace a Secret with $reason', async ({ secret: content }) => {
    const authority = await start('a');
    const leaf = authority.current().certificate;
    await client.delete(secrets, { namespace, name: 'serving' });
    const metadata = { name: 'serving', namespace };
    // The authority may be faster than we are at putting its own back.
    await eventually(async () => {
      await client.delete(secrets, { namespace, name: 'serving' }).catch(() => {});
      await client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, ...content });
      return true;
    });
    await eventually(
      async () => (await secret('serving')).type === 'kubernetes.io/tls' && (await field('tls.crt')) === leaf,
    );
    expect(authority.current().certificate).toBe(leaf);
  });

  test('turn to a new authority in order when its key is deleted, and the old one leaves when all have turned', async () => {
    const [one, two] = await Promise.all([start('a'), start('b')]);
    const before = one.bundle().pem;
    await client.delete(secrets, { namespace, name: 'serving-authorities' });
    // Both are there for half a second only.
    await eventually(() => certificatesIn(one.bundle().pem) === 2, { every: 5 });
    await eventually(() => certificatesIn(one.bundle().pem) === 1 && one.bundle().pem !== before);
    await eventually(() => one.current().certificate === two.current().certificate);
    expect(await field('ca.crt')).toBe(one.bundle().pem);
  });
});

describe('a Secret that cannot be written', () => {
  const name = 'held-authorities';
  const store = () => clusterStore({ client, namespace, name: 'held' });
  const create = (content: Partial<Secret>) =>
    client.create<Secret>(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, ...content });
  beforeAll(async () => {
    namespace = await cluster.uniqueNamespace('certificates');
  });

  test('makes room where it is of another type', async () => {
    const { metadata } = await create({ type: 'example.com/other' });
    await expect(store().writeKeys([], metadata.resourceVersion)).resolves.toBe('conflict');
    await expect(secret(name)).rejects.toSatisfy(isNotFound);
  });

  test('stays where somebody has made it immutable', async () => {
    const { metadata } = await create({ type: 'Opaque', immutable: true, data: { note: 'aGVsbG8=' } });
    await expect(store().writeKeys([], metadata.resourceVersion)).rejects.toMatchObject({ status: 422 });
    expect((await secret(name)).metadata.uid).toBe(metadata.uid);
  });
});

test('a replica goes on with what it has while the API server is away, and catches up', async () => {
  const plane = await startControlPlane();
  const through = connect(loadKubeconfig({ file: plane.kubeconfig }));
  try {
    namespace = 'default';
    const lives = { leafMilliseconds: 18_000, authorityMilliseconds: 3_600_000 };
    const authority = await start('a', { client: through, ...lives });
    await authority.sync();
    const leaf = authority.current().certificate;
    await plane.apiServer.kill();
    await expect(authority.sync()).rejects.toMatchObject({ code: expect.stringMatching(/^connection\//) });
    expect(authority.current().certificate).toBe(leaf);
    await plane.apiServer.start();
    await eventually(() => authority.current().certificate !== leaf, { within: 180_000 });
    await authority.stop();
  } finally {
    await through.close();
    await plane.stop();
  }
});

test('rotation under load loses no request', async () => {
  // More leaves than authorities: some were renewed by the authority that signed the one before.
  const enough = ({ authorities, leaves }: { authorities: number; leaves: number }) =>
    authorities > 1 && leaves > authorities;
  const report = await run({ minutes: 0.4, longestMinutes: 4, enough, pauseFactor: 4, log: () => {} });
  expect(report.failures).toEqual([]);
  expect(report).toSatisfy(enough);
  for (const count of Object.values(report.requests)) expect(count).toBeGreaterThan(0);
});
