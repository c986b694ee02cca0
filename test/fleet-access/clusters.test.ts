/** Clusters on a real API server: registered, probed, tampered with, unreachable, resealed, deleted. */

import { readFileSync } from 'node:fs';
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, cluster as clusterKind, ERASE_FINALIZER, operatorInstallation } from '../../src/api/index.ts';
import { fetchSealingKey, type SecretObject, sealedSecret, sealKubeconfig } from '../../src/fleet/index.ts';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../src/runtime/index.ts';
import { coreSecrets } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { accessTests } from './support/access.ts';
import { commandTests } from './support/commands.ts';
import {
  addCluster,
  conditionOf,
  type Management,
  patient,
  type RunningReconciler,
  says,
  startManagement,
  startReconciler,
  systemNamespace,
  type TestKeys,
  testKeys,
  whenCluster,
} from './support/setup.ts';

let management: Management;
let keys: TestKeys;
let running: RunningReconciler;
let proxy: Proxy;

beforeAll(async () => {
  management = await startManagement();
  keys = await testKeys();
  proxy = await startProxy(Number(new URL(management.plane.url).port));
  running = startReconciler(management, keys, { erasePatienceMilliseconds: 0 });
});

afterAll(async () => {
  await running?.stop();
  await proxy?.stop();
  await management?.stop();
});

test('a Cluster is ready once its kubeconfig opens and it answers, and says which Kubernetes it runs', async () => {
  const { client, kubeconfig } = management;
  await addCluster(management, keys, 'plain', kubeconfig, { environment: 'Production' });
  const cluster = await whenCluster(client, 'plain', says('Ready', 'True', 'ResourceReady'));
  expect(cluster.metadata.finalizers).toContain(ERASE_FINALIZER);
  expect(cluster.status).toMatchObject({ health: 'Healthy', phase: 'ready', failures: 0, observedGeneration: 1 });
  expect(cluster.status?.kubernetesVersion).toMatch(/^v1\.\d+\.\d+/);
  expect(cluster.status?.sealedWith).toBe((await keys.current()).sealing.id);
  expect(conditionOf(cluster, 'CredentialsReadable')?.status).toBe('True');
  expect(conditionOf(cluster, 'Reachable')?.status).toBe('True');
  // It is asked again and again.
  const { lastCheckedTime } = cluster.status ?? {};
  await whenCluster(client, 'plain', ({ status }) => status?.lastCheckedTime !== lastCheckedTime);
  const [access] = running.accesses.filter(({ cluster: name }) => name === 'plain');
  expect(access).toMatchObject({ event: 'cluster.access', purpose: 'observe', outcome: 'allowed' });
});

test('the key to seal with is published, and nothing of the private one', async () => {
  const { sealing } = await keys.current();
  const published = await eventually(() => fetchSealingKey(management.client, systemNamespace), patient);
  expect(published.id).toBe(sealing.id);
  expect(published.jwk).not.toHaveProperty('d');
});

const unusable = [
  { name: 'flipped', says: 'Tampered', reason: 'one character of what is sealed was changed' },
  { name: 'swapped', says: 'Tampered', reason: 'it was sealed for another Cluster' },
  { name: 'typeless', says: 'Tampered', reason: 'the Secret is not of the type that is read' },
  { name: 'keyless', says: 'KeyNotFound', reason: 'it was sealed with a key that the platform does not have' },
  { name: 'secretless', says: 'SecretNotFound', reason: 'there is no Secret' },
  { name: 'executing', says: 'KubeconfigInvalid', reason: 'the kubeconfig would run a program' },
  { name: 'elsewhere', says: 'KubeconfigInvalid', reason: 'the kubeconfig names a file' },
] as const;

test('what cannot be trusted is refused, each with its reason, and no connection is made', async () => {
  const { client, kubeconfig } = management;
  const parsed = JSON.parse(kubeconfig);
  const withUser = (user: object) => JSON.stringify({ ...parsed, users: [{ name: parsed.users[0].name, user }] });
  const prepare: Record<(typeof unusable)[number]['name'], () => Promise<unknown>> = {
    async flipped() {
      const sealed = await sealKubeconfig((await keys.current()).sealing, 'flipped', kubeconfig);
      const at = Math.floor(sealed.length / 2);
      const changed = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
      await client.create(coreSecrets, sealedSecret(systemNamespace, 'cluster-flipped', changed));
      await createCluster(client, 'flipped');
    },
    swapped: () => addCluster(management, keys, 'swapped', kubeconfig, { sealedFor: 'plain' }),
    async typeless() {
      const sealed = await sealKubeconfig((await keys.current()).sealing, 'typeless', kubeconfig);
      await client.create(coreSecrets, {
        ...sealedSecret(systemNamespace, 'cluster-typeless', sealed),
        type: 'Opaque',
      });
      await createCluster(client, 'typeless');
    },
    keyless: async () => addCluster(management, await testKeys(), 'keyless', kubeconfig),
    secretless: () => createCluster(client, 'secretless'),
    executing: () =>
      addCluster(management, keys, 'executing', withUser({ exec: { apiVersion: 'v1', command: '/bin/secret-word' } })),
    elsewhere: () => addCluster(management, keys, 'elsewhere', withUser({ tokenFile: '/var/secret-word' })),
  };
  await Promise.all(unusable.map(({ name }) => prepare[name]()));
  for (const { name, says: reason } of unusable) {
    const cluster = await whenCluster(client, name, says('CredentialsReadable', 'False', reason));
    expect(cluster.status?.health, name).toBe('Unhealthy');
    expect(conditionOf(cluster, 'Ready'), name).toMatchObject({ status: 'False', reason });
    expect(JSON.stringify(cluster.status), name).not.toContain('secret-word');
  }
  const names = new Set<string>(unusable.map(({ name }) => name));
  expect(running.accesses.filter(({ cluster }) => names.has(cluster))).toEqual([]);
});

test('missing permissions are named in the condition', async () => {
  const file = await management.plane.kubeconfigFor({ name: 'somebody-without-rights' });
  await addCluster(management, keys, 'powerless', readFileSync(file, 'utf8'));
  const cluster = await whenCluster(management.client, 'powerless', says('Reachable', 'False', 'Forbidden'));
  expect(conditionOf(cluster, 'Ready')?.message).toMatch(/lacks the permission for: (list|apply|get) /);
  expect(JSON.stringify(cluster.status)).not.toContain('somebody-without-rights');
});

test('an unreachable cluster is Unhealthy, and Healthy again once it is reachable', async () => {
  const { client, kubeconfig, plane } = management;
  await addCluster(management, keys, 'far', kubeconfig.replaceAll(plane.url, proxy.url));
  await whenCluster(client, 'far', says('Ready', 'True', 'ResourceReady'));
  proxy.cut();
  const away = await whenCluster(client, 'far', says('Reachable', 'False', 'Unreachable'));
  expect(away.status).toMatchObject({ health: 'Unhealthy', phase: 'unknown' });
  expect(away.status?.kubernetesVersion).toMatch(/^v1\./);
  await whenCluster(client, 'far', ({ status }) => (status?.failures ?? 0) > 1);
  proxy.restore();
  const back = await whenCluster(client, 'far', says('Ready', 'True', 'ResourceReady'));
  expect(back.status).toMatchObject({ health: 'Healthy', failures: 0 });
  // Events follow the status a moment later.
  await eventually(() => {
    const recorded = running.events.filter(({ regarding }) => regarding.metadata.name === 'far');
    expect(recorded[0]).toMatchObject({ type: 'Warning', reason: 'Unreachable' });
    expect(recorded.at(-1)).toMatchObject({ type: 'Normal', reason: 'ResourceReady' });
  }, patient);
});

test('with a new key every kubeconfig is resealed, and the old key is no longer needed', async () => {
  const { client } = management;
  const before = (await keys.current()).sealing.id;
  await keys.rotate();
  const { id } = (await keys.current()).sealing;
  expect(id).not.toBe(before);
  for (const name of ['plain', 'far']) await whenCluster(client, name, ({ status }) => status?.sealedWith === id);
  await keys.forgetOld();
  const { lastCheckedTime } = (await client.get<Cluster>(clusterKind.resource, { name: 'plain' })).status ?? {};
  const after = await whenCluster(client, 'plain', ({ status }) => status?.lastCheckedTime !== lastCheckedTime);
  expect(conditionOf(after, 'Ready')?.status).toBe('True');
  await eventually(async () => (await fetchSealingKey(client, systemNamespace)).id === id, patient);
});

test('a kubeconfig that was replaced is looked at at once', async () => {
  const { client, kubeconfig } = management;
  const sealed = await sealKubeconfig((await keys.current()).sealing, 'swapped', kubeconfig);
  const secret = await client.get<SecretObject>(coreSecrets, { namespace: systemNamespace, name: 'cluster-swapped' });
  await client.update(coreSecrets, {
    ...secret,
    data: sealedSecret(systemNamespace, 'cluster-swapped', sealed).data ?? {},
  });
  await whenCluster(client, 'swapped', says('Ready', 'True', 'ResourceReady'));
});

accessTests(() => ({ management, keys, running }));
commandTests(() => ({ management }));

test('nothing of a kubeconfig is in a status, an event, the log or the audit', async () => {
  const { client, kubeconfig, plane } = management;
  const parsed = JSON.parse(kubeconfig);
  const { items } = await client.list<Cluster>(clusterKind.resource);
  const visible = [
    JSON.stringify(items),
    JSON.stringify(running.events),
    JSON.stringify(running.accesses),
    ...running.log,
  ].join('\n');
  const { user } = parsed.users[0];
  const words = [
    user['client-key-data'],
    user['client-certificate-data'],
    parsed.clusters[0].cluster['certificate-authority-data'],
    Buffer.from(user['client-key-data'], 'base64').toString('utf8').split('\n')[1],
    new URL(plane.url).host,
    new URL(proxy.url).host,
    'eyJhbGciOiJSUzI1NiIs',
  ];
  for (const word of words) expect(visible.includes(String(word))).toBe(false);
});

test('deleting Clusters erases their Secrets, what is known of operators there, and all that was made on the clusters', async () => {
  const { client } = management;
  await client.create(operatorInstallation.resource, {
    apiVersion: 'platform.company.com/v1',
    kind: 'OperatorInstallation',
    metadata: { name: 'cert-manager.plain' },
    spec: {
      operator: 'cert-manager',
      cluster: 'plain',
      version: 'v1.14.0',
      snapshot: 'snapshot-9f86d081884c7d65',
      namespace: 'cert-manager',
      releaseName: 'cert-manager',
      revision: 1,
    },
  } as UnknownObject);
  // What was there was also that of a Cluster that a test has removed; the others make theirs again.
  await eventually(async () => (await leftThere(client)).length > 0, patient);
  proxy.cut();
  const { items } = await client.list<Cluster>(clusterKind.resource);
  await Promise.all(items.map(({ metadata }) => client.delete(clusterKind.resource, { name: metadata.name })));
  await eventually(async () => (await client.list(clusterKind.resource)).items.length === 0, patient);
  expect(await leftThere(client)).toEqual([]);
  await expect(client.get(operatorInstallation.resource, { name: 'cert-manager.plain' })).rejects.toSatisfy(isNotFound);
  const secrets = await client.list<SecretObject>(coreSecrets, { namespace: systemNamespace });
  // One of another type was never the Cluster's.
  expect(secrets.items.map(({ metadata }) => metadata.name)).toEqual(['cluster-typeless']);
  // The deletion of an unreachable cluster is not blocked forever, and the remaining objects are reported.
  await eventually(
    () =>
      running.events.some(
        ({ regarding, reason }) => regarding.metadata.name === 'far' && reason === 'CleanupIncomplete',
      ),
    patient,
  );
});

const createCluster = (client: Client, name: string): Promise<Cluster> =>
  client.create<Cluster>(clusterKind.resource, {
    apiVersion: 'platform.company.com/v1',
    kind: 'Cluster',
    metadata: { name },
    spec: { environment: 'Dev', credentials: {} },
  } as Cluster);

async function leftThere(client: Client): Promise<string[]> {
  const rbac = 'rbac.authorization.k8s.io';
  const kinds: Resource[] = [
    { group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount', namespaced: true },
    ...(['Role', 'RoleBinding'] as const).map((kind) => ({
      group: rbac,
      version: 'v1',
      plural: `${kind.toLowerCase()}s`,
      kind,
      namespaced: true,
    })),
    ...(['ClusterRole', 'ClusterRoleBinding'] as const).map((kind) => ({
      group: rbac,
      version: 'v1',
      plural: `${kind.toLowerCase()}s`,
      kind,
      namespaced: false,
    })),
    ...(['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'] as const).map((kind) => ({
      group: 'admissionregistration.k8s.io',
      version: 'v1',
      plural: kind.endsWith('y') ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings',
      kind,
      namespaced: false,
    })),
  ];
  const found = await Promise.all(
    kinds.map((kind) => client.list(kind, { labelSelector: 'platform.company.com/managed-by=kidp' })),
  );
  return found.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
}

interface Proxy {
  readonly url: string;
  cut(): void;
  restore(): void;
  stop(): Promise<void>;
}

/** Between the platform and a cluster, so that the way there can be cut. It keeps its port: somebody else might take it. */
async function startProxy(port: number): Promise<Proxy> {
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    if (isCut) {
      socket.destroy();
      return;
    }
    const onward = connectTcp(port, '127.0.0.1');
    for (const each of [socket, onward]) {
      open.add(each);
      each.on('error', () => {});
      each.on('close', () => {
        open.delete(each);
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    isCut = true;
    for (const each of open) each.destroy();
  };
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    restore() {
      isCut = false;
    },
    async stop() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
