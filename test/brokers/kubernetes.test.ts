/** The broker that makes things in a cluster, on the real one: through HTTP, from the request to the report and back. */
import { createHash, randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encryptTo, kubernetesProvider, type RunningBroker, startBroker } from '../../src/broker/index.ts';
import { type Client, connect, loadKubeconfig, type Resource, type UnknownObject } from '../../src/runtime/index.ts';
import { tokenAccess } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import { untilQuotaRefuses } from '../support/quota.ts';
import { brokerKeys, log, type ResourceSketch, startTestPlatform, type TestPlatform } from './support/platform.ts';

const core = (plural: string, kind: string): Resource => ({ group: '', version: 'v1', plural, kind, namespaced: true });
const apps = (plural: string, kind: string): Resource => ({ ...core(plural, kind), group: 'apps' });
const deployments = apps('deployments', 'Deployment');
const statefulSets = apps('statefulsets', 'StatefulSet');
const secrets = core('secrets', 'Secret');
const configMaps = core('configmaps', 'ConfigMap');
const quotas = core('resourcequotas', 'ResourceQuota');
const uidLabel = 'broker.platform.company.com/resource-uid';

interface Deployment extends UnknownObject {
  spec: { template: { spec: { containers: object[] } } };
}

const cluster = sharedCluster();
const name = uniqueName('onprem');
const recordNamespace = uniqueName('kidp-brokers');
let client: Client;
let platform: TestPlatform;
let broker: RunningBroker;
let namespace: string;
let url: string;
const keys = await brokerKeys(name);

function start(): Promise<RunningBroker> {
  const config = loadKubeconfig({ file: cluster.kubeconfig });
  const provider = kubernetesProvider({
    broker: name,
    client: connect(config),
    leaseClient: connect(config),
    namespace: recordNamespace,
    decrypt: (jwe) => keys.decrypt(jwe),
    // It is given up in order here: a machine that stands still for a while must not take it away.
    leaseMilliseconds: 60_000,
    log,
  });
  return startBroker({
    name,
    version: '1.2.3',
    provider,
    keys,
    platform: { jwks: () => platform.keys.jwks(), statusUrl: platform.statusUrl },
    http: {},
    ledger: true,
    heartbeatMilliseconds: 500,
    prices: { currency: 'EUR', perHour: { Database: { default: 1 } } },
    usageMilliseconds: 1_000,
    registry: new Registry(),
    metricsAccess: tokenAccess(() => 'for-tests'),
    log,
  });
}

beforeAll(async () => {
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  namespace = await cluster.uniqueNamespace('team');
  platform = await startTestPlatform(name, keys);
  broker = await start();
  url = broker.url ?? '';
  await broker.ready();
});
afterAll(async () => {
  await broker?.stop();
  await platform?.stop();
  await client?.close();
});

const sketch = (kind: ResourceSketch['kind'], spec: Record<string, unknown>): ResourceSketch => ({
  kind,
  namespace,
  name: uniqueName('thing'),
  uid: randomUUID(),
  spec,
});
const idOf = ({ uid, generation = 1, attempt = 0 }: ResourceSketch) => `${uid}/${generation}/${attempt}`;
const deploy = async (resource: ResourceSketch, phase = 'ready') => {
  const { status, body } = await platform.post(url, platform.request(resource));
  expect({ status, body }).toMatchObject({ status: 202, body: { outcome: 'accepted' } });
  return platform.untilPhase(idOf(resource), phase);
};
const made = async (resource: Resource, { uid }: ResourceSketch) =>
  (await client.list(resource, { namespace, labelSelector: `${uidLabel}=${uid}` })).items;
const image = 'app:1';

describe('from request to report', () => {
  test('a Service: created, changed, scaled down, deleted', async () => {
    const service = sketch('Service', { image, replicas: 2, ports: [{ name: 'http', port: 80 }] });
    const ready = await deploy(service);
    expect(ready).toMatchObject({ phase: 'ready', replicas: 2, readyReplicas: 2 });
    expect(platform.reportsOf(service.uid).map(({ phase }) => phase)[0]).toBe('accepted');

    const changed = { ...service, generation: 2, spec: { image: 'app:2', replicas: 1 } };
    await deploy(changed);
    const [deployment] = await made(deployments, service);
    expect(deployment?.spec).toMatchObject({ replicas: 1, template: { spec: { containers: [{ image: 'app:2' }] } } });
    expect(await made(core('services', 'Service'), service)).toEqual([]);

    await deploy({ ...service, generation: 3, action: 'Delete' }, 'deleted');
    expect([...(await made(deployments, service)), ...(await made(core('pods', 'Pod'), service))]).toEqual([]);
  });

  test('a namespace that somebody has deleted is made again', async () => {
    const namespaces: Resource = { ...core('namespaces', 'Namespace'), namespaced: false };
    const secret = { ...sketch('Secret', { keys: [{ name: 'a', generate: {} }] }), namespace: uniqueName('gone') };
    await deploy(secret);
    await client.delete(namespaces, { name: secret.namespace });
    await platform.untilPhase(idOf(secret), 'drifted');
    await deploy({ ...secret, attempt: 1 });
  });

  test('a Database: credentials encrypted to the platform, kept by the next deployment', async () => {
    const database = sketch('Database', { engine: 'postgresql', backup: { enabled: true } });
    const { credentials, outputs } = await deploy(database);
    if (credentials === undefined || !('jwe' in credentials)) throw new Error('no credentials');
    const values = await platform.keys.decrypt(credentials.jwe);
    expect(values).toMatchObject({ username: 'app', host: outputs?.host, type: 'postgresql' });
    expect(JSON.stringify(platform.events)).not.toContain(values.password);

    const again = await deploy({ ...database, attempt: 1 });
    expect(again.credentials?.revision).toBe(credentials.revision);
    const rotated = { ...database, attempt: 2 };
    const request = platform.request(rotated, { labels: { 'broker.platform.company.com/rotate': '1' } });
    await platform.post(url, request);
    const report = await platform.untilPhase(idOf(rotated), 'ready');
    expect(report.credentials?.revision).not.toBe(credentials.revision);

    await deploy({ ...database, generation: 2, action: 'Delete' }, 'deleted');
    expect([...(await made(statefulSets, database)), ...(await made(secrets, database))]).toEqual([]);
  });

  test('a Cache and a Secret', async () => {
    const cache = sketch('Cache', { engine: 'redis', size: 'small' });
    const secret = sketch('Secret', { keys: [{ name: 'cookie', generate: { length: 40, alphabet: 'hex' } }] });
    const [, report] = await Promise.all([deploy(cache), deploy(secret)]);
    if (report.credentials === undefined || !('jwe' in report.credentials)) throw new Error('no credentials');
    const values = await platform.keys.decrypt(report.credentials.jwe);
    expect(values.cookie).toMatch(/^[0-9a-f]{40}$/);
    expect(report.outputs).toMatchObject({ namespace, secretName: secret.name });
  });

  test('a connection of what is used becomes environment variables, and another one starts it again', async () => {
    const service = sketch('Service', { image });
    const bound = async (password: string) => [
      {
        kind: 'Database' as const,
        namespace,
        name: 'users',
        credentials: await encryptTo(keys.encryptionKey(), { password }),
      },
    ];
    await platform.post(url, platform.request(service, { bindings: await bound('first') }));
    await platform.untilPhase(idOf(service), 'ready');
    const [secret] = (await made(secrets, service)) as (UnknownObject & { data?: Record<string, string> })[];
    expect(Buffer.from(secret?.data?.DATABASE_USERS_PASSWORD ?? '', 'base64').toString()).toBe('first');
    const revision = async () => JSON.stringify((await made(deployments, service))[0]?.spec);
    const before = await revision();
    const next = { ...service, attempt: 1 };
    await platform.post(url, platform.request(next, { bindings: await bound('second') }));
    await platform.untilPhase(idOf(next), 'ready');
    expect(await revision()).not.toBe(before);
  });
});

describe('what Kubernetes makes hard', () => {
  test('handing the number of copies to an autoscaler and back never drops it to one', async () => {
    const ports = [{ name: 'http', port: 80 }];
    const service = sketch('Service', { image, replicas: 3, ports });
    await deploy(service);
    const uidOf = async () => (await made(core('pods', 'Pod'), service)).map(({ metadata }) => metadata.uid).sort();
    const before = await uidOf();
    const autoscaling = { minReplicas: 2, maxReplicas: 5 };
    const marked = { 'platform.company.com/usable-by': service.name };
    const metadata = { name: 'cert', namespace, annotations: marked };
    await client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata });
    const loadBalancer = { scope: 'external', host: 'users.example.com', tls: { secretName: 'cert' } };
    const scaled = { ...service, generation: 2, spec: { image, replicas: 1, ports, autoscaling, loadBalancer } };
    const report = await deploy(scaled);
    expect(report).toMatchObject({ replicas: 3, url: 'https://users.example.com/' });
    expect(await uidOf()).toEqual(before);
    await client.patch(
      deployments,
      { namespace, name: service.name },
      { type: 'merge', body: { spec: { replicas: 4 } } },
    );
    await eventually(() => platform.reportsOf(service.uid).at(-1)?.readyReplicas === 4);
    expect(platform.reportsOf(service.uid).map(({ phase }) => phase)).not.toContain('drifted');

    const fixed = { ...service, generation: 3, spec: { image, replicas: 2, ports } };
    expect(await deploy(fixed)).toMatchObject({ replicas: 2 });
    const autoscalers = {
      group: 'autoscaling',
      version: 'v2',
      plural: 'horizontalpodautoscalers',
      kind: 'HorizontalPodAutoscaler',
      namespaced: true,
    };
    expect(await made(autoscalers, service)).toEqual([]);
  });

  test('a disk stays when the rest changes, is never made smaller, and goes with its Database', async () => {
    const storageClass = uniqueName('disks');
    const cluster = { version: 'v1', namespaced: false };
    await client.create({ ...cluster, group: 'storage.k8s.io', plural: 'storageclasses', kind: 'StorageClass' }, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: storageClass },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    } as unknown as UnknownObject);
    await client.create({ ...cluster, group: '', plural: 'persistentvolumes', kind: 'PersistentVolume' }, {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: storageClass },
      spec: {
        capacity: { storage: '100Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: storageClass,
        hostPath: { path: '/tmp/unused' },
      },
    } as unknown as UnknownObject);
    const target = { name: 'disks', provider: 'onprem', parameters: { storageClass } };
    const database = sketch('Database', { size: '20Gi' });
    const asked = async (resource: ResourceSketch, phase: string) => {
      await platform.post(url, platform.request(resource, { target }));
      return platform.untilPhase(idOf(resource), phase);
    };
    await asked(database, 'ready');
    await asked({ ...database, generation: 2, spec: { size: '20Gi', version: '17' } }, 'ready');
    const smaller = await asked({ ...database, generation: 3, spec: { size: '10Gi' } }, 'failed');
    expect(smaller.error).toMatchObject({ class: 'permanent', code: 'storage-cannot-shrink' });
    await asked({ ...database, generation: 4, action: 'Delete' }, 'deleted');
    expect(await made(core('persistentvolumeclaims', 'PersistentVolumeClaim'), database)).toEqual([]);
  });
});

describe('what is delivered more than once, late or out of order', () => {
  test('is done once, and never after something newer', async () => {
    const secret = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    const first = platform.request({ ...secret, generation: 1 });
    const second = platform.request({ ...secret, generation: 2 });
    const answers = await Promise.all([first, first, first, first].map((event) => platform.post(url, event)));
    expect(answers.map(({ body }) => body.outcome).sort()).toEqual(['accepted', 'duplicate', 'duplicate', 'duplicate']);
    expect((await platform.post(url, second)).body.outcome).toBe('accepted');
    await platform.untilPhase(`${secret.uid}/2/0`, 'ready');
    expect((await platform.post(url, first)).body.outcome).toBe('stale');
    expect((await platform.post(url, second)).body.outcome).toBe('duplicate');

    const gone = platform.request({ ...secret, generation: 3, action: 'Delete' });
    await platform.post(url, gone);
    await platform.untilPhase(`${secret.uid}/3/0`, 'deleted');
    const before = platform.reportsOf(secret.uid).length;
    expect((await platform.post(url, gone)).body.outcome).toBe('duplicate');
    await eventually(() => platform.reportsOf(secret.uid).length > before);
    expect(platform.reportsOf(secret.uid).at(-1)).toMatchObject({
      phase: 'deleted',
      deploymentId: `${secret.uid}/3/0`,
    });
    expect((await platform.post(url, second)).body.outcome).toBe('stale');

    const { body } = await platform.get(`${url}/v1/deployments/${secret.uid}`);
    expect((body.ledger as { deploymentId: string }[]).map(({ deploymentId }) => deploymentId)).toEqual(
      [1, 2, 3].map((generation) => `${secret.uid}/${generation}/0`),
    );
  });

  test('a query is answered with the state of the deployment, or `absent`', async () => {
    const secret = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    const { sequence } = await deploy(secret);
    await platform.post(url, platform.request({ ...secret, action: 'Query' }, { query: 1 }));
    await eventually(() => (platform.reportsOf(secret.uid).at(-1)?.sequence ?? 0) > sequence);
    expect(platform.reportsOf(secret.uid).at(-1)).toMatchObject({ phase: 'ready', deploymentId: idOf(secret) });

    const unknown = sketch('Secret', {});
    await platform.post(url, platform.request({ ...unknown, action: 'Query' }));
    await platform.untilPhase(idOf(unknown), 'absent');
    // A deployment that never arrived, of something that is there.
    await platform.post(url, platform.request({ ...secret, generation: 2, action: 'Query' }));
    await platform.untilPhase(`${secret.uid}/2/0`, 'absent');
  });

  test('a request from before anybody can remember is not carried out', async () => {
    const secret = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    const event = platform.request(secret, { time: new Date('2020-01-01T00:00:00Z') });
    expect((await platform.post(url, event)).body.outcome).toBe('stale');
    const report = await platform.untilPhase(idOf(secret), 'failed');
    expect(report.error).toMatchObject({ class: 'transient', code: 'request-expired' });
  });
});

describe('what cannot be done is said, with what to do', () => {
  test.each([
    {
      kind: 'Topic' as const,
      spec: {},
      error: { class: 'permanent', code: 'unsupported-kind' },
      reason: 'another broker',
    },
    {
      kind: 'Service' as const,
      spec: { image, ports: [{ port: 80, name: 'NOT valid' }] },
      error: { class: 'permanent', code: 'invalid' },
      reason: 'the API server refuses it',
    },
    {
      kind: 'Secret' as const,
      spec: { keys: [{ name: 'k', remoteRef: { path: 'p' } }] },
      error: { class: 'permanent', code: 'no-secret-store' },
      reason: 'a store that is not there',
    },
  ])('$kind: $reason', async ({ kind, spec, error }) => {
    expect((await deploy(sketch(kind, spec), 'failed')).error).toMatchObject(error);
  });

  test('a name that somebody else has is never taken', async () => {
    const secret = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    const theirs = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secret.name, namespace },
      data: { mine: 'bWluZQ==' },
    };
    await client.create(secrets, theirs);
    expect((await deploy(secret, 'failed')).error).toMatchObject({ class: 'permanent', code: 'name-taken' });
    await deploy({ ...secret, generation: 2, action: 'Delete' }, 'deleted');
    expect((await client.get<UnknownObject>(secrets, { namespace, name: secret.name })).data).toEqual(theirs.data);
  });

  test('quota of the namespace, of what is made and of its pods', async () => {
    const full = await cluster.uniqueNamespace('full');
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q', namespace: full },
      spec: { hard: { secrets: '0', pods: '0' } },
    };
    await client.create(quotas, quota);
    const metadata = { name: 'probe', namespace: full };
    await untilQuotaRefuses(client, secrets, { apiVersion: 'v1', kind: 'Secret', metadata });
    const probe = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'c', image }] } };
    await untilQuotaRefuses(client, core('pods', 'Pod'), probe);
    const secret = { ...sketch('Secret', { keys: [{ name: 'k', generate: {} }] }), namespace: full };
    expect((await deploy(secret, 'failed')).error).toMatchObject({ class: 'quota', code: 'quota-exceeded' });
    const service = { ...sketch('Service', { image }), namespace: full };
    expect((await deploy(service, 'failed')).error).toMatchObject({ class: 'quota', code: 'quota-exceeded' });
  });
});

describe('drift', () => {
  test('what was changed in what we set, or deleted, is reported; what others add is theirs', async () => {
    const service = sketch('Service', { image, replicas: 1, resources: { requests: { cpu: '1000m' } } });
    const { sequence } = await deploy(service);
    const key = { namespace, name: service.name };
    const annotate = { metadata: { annotations: { 'example.com/theirs': 'yes' } } };
    const { spec } = await client.patch<Deployment>(deployments, key, { type: 'merge', body: annotate });
    const containers = spec.template.spec.containers.map((each) => ({ ...each, image: 'evil:1' }));
    const body = { spec: { template: { spec: { containers } } } };
    await client.patch(deployments, key, { type: 'merge', body });
    const drifted = await platform.untilPhase(idOf(service), 'drifted');
    expect(drifted.message).toContain(`Deployment/${namespace}/${service.name} was changed`);
    const reported = platform.reportsOf(service.uid).filter((each) => each.sequence > sequence);
    expect(reported.map(({ phase }) => phase)).toEqual(['drifted']);

    const repaired = { ...service, attempt: 1 };
    await deploy(repaired);
    await client.delete(deployments, key);
    expect((await platform.untilPhase(idOf(repaired), 'drifted')).message).toContain('was deleted');
    await deploy({ ...service, attempt: 2 });
  });
});

describe('a broker that ends anywhere', () => {
  test('what was not acknowledged is reported by the next one, and what was claimed is carried out once', async () => {
    const secret = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    platform.failNext(1_000_000);
    await platform.post(url, platform.request(secret));
    await eventually(async () => (await made(secrets, secret)).length === 1);
    expect(platform.reportsOf(secret.uid)).toEqual([]);
    await broker.stop();
    platform.failNext(0);
    // As a broker leaves it that ends between its claim and what follows.
    const claimed = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    const [record] = (await client.list(configMaps, { namespace: recordNamespace })).items.filter((each) =>
      JSON.stringify(each).includes(secret.uid),
    ) as (UnknownObject & { data: { record: string } })[];
    const text = record?.data.record.replaceAll(secret.uid, claimed.uid).replaceAll(secret.name, claimed.name) ?? '{}';
    const left = { ...JSON.parse(text), state: 'claimed', notes: {}, acknowledged: 0 };
    await client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        ...record?.metadata,
        name: `kidp-record-${createHash('sha256').update(`${name}/${claimed.uid}`).digest('hex').slice(0, 32)}`,
        resourceVersion: undefined,
        uid: undefined,
      },
      data: { record: JSON.stringify(left) },
    } as unknown as UnknownObject);

    broker = await start();
    url = broker.url ?? '';
    await platform.untilPhase(idOf(secret), 'ready');
    await platform.untilPhase(idOf(claimed), 'ready');
    const { body } = await platform.get(`${url}/v1/deployments/${claimed.uid}`);
    expect(body.ledger).toHaveLength(1);
  });

  test('what something has cost is reported once it is gone, before that is said, and not again', async () => {
    const database = sketch('Database', {});
    await deploy(database);
    const costsOf = (uid: string) =>
      platform.events.flatMap(({ data }) => ('amount' in data && data.resource.uid === uid ? [data] : []));
    platform.failNext(1_000_000);
    await platform.post(url, platform.request({ ...database, generation: 2, action: 'Delete' }));
    const recordOf = async () => (await platform.get(`${url}/v1/deployments/${database.uid}`)).body;
    await eventually(async () => expect((await recordOf()).state).toBe('deleted'), { within: 180_000 });
    expect(costsOf(database.uid).filter(({ final }) => final)).toEqual([]);
    await broker.stop();
    platform.failNext(0);
    broker = await start();
    url = broker.url ?? '';
    await platform.untilPhase(`${database.uid}/2/0`, 'deleted');
    await eventually(async () => {
      const { acknowledged, sequence } = await recordOf();
      expect(acknowledged).toBe(sequence);
    });
    const about = platform.events.flatMap(({ data }) =>
      'resource' in data && data.resource.uid === database.uid
        ? ['final' in data ? 'final' : 'phase' in data ? data.phase : 'costs']
        : [],
    );
    expect(about.slice(about.indexOf('final'))).toEqual(['final', 'deleted']);
    // Others are reported again meanwhile, by this instance and by the next.
    const other = sketch('Database', {});
    await deploy(other);
    await eventually(() => costsOf(other.uid).length > 1);
    await broker.stop();
    broker = await start();
    url = broker.url ?? '';
    const before = costsOf(other.uid).length;
    await eventually(() => costsOf(other.uid).length > before + 1);
    expect(costsOf(database.uid).filter(({ final }) => final)).toHaveLength(1);
    expect(costsOf(database.uid).at(-1)).toMatchObject({ currency: 'EUR', final: true });
  });

  test('of two at once both take requests, one works, and the other takes over', async () => {
    const second = await start();
    const secret = sketch('Secret', { keys: [{ name: 'k', generate: {} }] });
    const event = platform.request(secret);
    const answers = await Promise.all([url, second.url ?? ''].map((each) => platform.post(each, event)));
    expect(answers.map(({ body }) => body.outcome).sort()).toEqual(['accepted', 'duplicate']);
    await platform.untilPhase(idOf(secret), 'ready');
    await broker.stop();
    broker = second;
    url = second.url ?? '';
    await second.ready();
    await deploy({ ...secret, generation: 2 });
    const { body } = await platform.get(`${url}/v1/deployments/${secret.uid}`);
    expect(body.ledger).toHaveLength(2);
  });
});

test('it says that it is alive, what it can do, and what things cost', async () => {
  const database = sketch('Database', {});
  await deploy(database);
  await eventually(() => platform.events.some(({ data }) => 'amount' in data && data.resource.uid === database.uid));
  expect(platform.events.find(({ data }) => 'capabilities' in data)?.data).toMatchObject({
    broker: name,
    version: '1.2.3',
  });
  const health = (await (await fetch(`${url}/v1/health`)).json()) as object;
  expect(health).toMatchObject({ broker: name, version: '1.2.3', leads: true });
  const acknowledged = /kidp_reference_broker_reports_total\{channel="HTTP",type="status",result="acknowledged"\} \d+/;
  // It is counted once the broker has the answer, a moment after the platform has the report.
  const headers = { authorization: 'Bearer for-tests' };
  await eventually(async () => expect(await (await fetch(`${url}/metrics`, { headers })).text()).toMatch(acknowledged));
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
});
