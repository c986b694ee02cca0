/** A developer, who cannot read Secrets, tries to get at them through a Service; the broker that would mount them is the real one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_VERSION, team } from '../../src/api/index.ts';
import { type Client, isNotFound, loadKubeconfig, type UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import {
  clusterTarget,
  conditionOf,
  coreSecrets,
  deployments,
  isReady,
  namespace,
  Objects,
  patient,
  resourceOf,
  type Stage,
  startStage,
} from '../dispatch/support/stage.ts';
import { useKafka } from '../support/kafka.ts';

let stage: Stage;
let admin: Client;
let ada: Client;
let objects: Objects;

const mark = 'platform.company.com/usable-by';

beforeAll(async () => {
  stage = await startStage({ topics: await useKafka() });
  admin = stage.client;
  objects = new Objects(stage);
  ada = admin.impersonate({ user: 'ada', groups: ['system:authenticated'] });
  const body = { spec: { rbac: { members: ['ada'] }, hosts: ['*.example.com'] } };
  await admin.patch(team.resource, { name: 'backend' }, { type: 'merge', body });
  await eventually(() => ada.list(resourceOf('Service'), { namespace }), patient);
  await put('private');
  await put('others', { [mark]: 'someone-else, another' });
  await put('marked', { [mark]: 'other, uses-marked' });
  await put('everybodys', { [mark]: '*' });
});
afterAll(() => stage?.stop());

const put = (name: string, annotations: Record<string, string> = {}, where = namespace) =>
  admin.create(coreSecrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: where, annotations },
    data: { key: Buffer.from('classified').toString('base64') },
  } as UnknownObject);
const from = (name: string, more: object = {}) => [
  { name: 'STOLEN', valueFrom: { secretKeyRef: { name, key: 'key', ...more } } },
];
const tls = (secretName: string, host: string) => ({
  ports: [{ name: 'http', port: 80 }],
  loadBalancer: { scope: 'external', host, tls: { secretName } },
});
const run = (name: string, spec: object, metadata: object = {}) =>
  ada.create(resourceOf('Service'), {
    apiVersion: API_VERSION,
    kind: 'Service',
    metadata: { name, namespace, ...metadata },
    spec: {
      owner: { kind: 'Team', name: 'backend' },
      targetRef: { name: clusterTarget },
      image: 'thief:1',
      ...spec,
    },
  } as UnknownObject);
const deployment = (name: string) =>
  admin.get<UnknownObject>(deployments, { namespace, name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
/** Waits until the broker has refused the object, and returns the message of its condition. */
const refused = async (name: string, kind = 'Service') => {
  const message = (object: Parameters<typeof conditionOf>[0]) => conditionOf(object, 'Ready')?.message ?? '';
  return message(await objects.until(kind, name, (object) => message(object).includes('usable by')));
};
const attempt = (request: () => Promise<unknown>): Promise<string> =>
  request().then(
    () => '',
    (error: unknown) => (error as Error).message,
  );

test('a developer cannot read, write or mark a Secret', async () => {
  const key = { namespace, name: 'private' };
  const body = { metadata: { annotations: { [mark]: '*' } } };
  expect(await attempt(() => ada.get(coreSecrets, key))).toContain('forbidden');
  expect(await attempt(() => ada.patch(coreSecrets, key, { type: 'merge', body }))).toContain('forbidden');
});

describe('is not mounted', () => {
  test.each<{ reason: string; name: string; spec: object; metadata?: object }>([
    { reason: 'a Secret of the namespace', name: 'env', spec: { env: from('private') } },
    { reason: 'one that is optional', name: 'optional', spec: { env: from('private', { optional: true }) } },
    { reason: 'one marked for others', name: 'others', spec: { env: from('others') } },
    { reason: 'one that does not exist yet', name: 'later', spec: { env: from('created-later', { optional: true }) } },
    { reason: 'a certificate', name: 'tls', spec: tls('private', 'tls.example.com') },
    {
      reason: 'the mark on the Service itself',
      name: 'self',
      spec: { env: from('private') },
      metadata: { annotations: { [mark]: '*' } },
    },
  ])('$reason', async ({ name, spec, metadata }) => {
    await run(`steals-${name}`, spec, metadata);
    expect(await refused(`steals-${name}`)).toMatch(
      /names Secret team-backend\/[-a-z]+, which is neither bound to this Service nor marked as usable by it/,
    );
    expect(await deployment(`steals-${name}`)).toBeUndefined();
  });

  test('a Secret that is swapped in by an update, and the running one stays', async () => {
    await run('swaps', { env: from('everybodys') });
    await objects.ready('Service', 'swaps');
    const body = { spec: { env: from('private') } };
    await ada.patch(resourceOf('Service'), { namespace, name: 'swaps' }, { type: 'merge', body });
    expect(await refused('swaps')).toContain('spec.env[STOLEN].valueFrom.secretKeyRef names Secret');
    expect(JSON.stringify(await deployment('swaps'))).not.toContain('private');
  });

  test('the connection Secret of a Database, nor the copy of another Service: admission denies the names', async () => {
    await objects.create('Database', 'users', {}, { app: 'users' });
    await objects.ready('Database', 'users');
    const dependencies = { databaseSelector: { matchLabels: { app: 'users' } } };
    await run('user-api', { dependencies });
    const bound = await objects.until('Service', 'user-api', isReady);
    const copy = bound.status?.bindings?.[0]?.connectionSecret ?? '';
    expect(copy).not.toBe('');
    for (const name of ['users-connection', copy]) {
      expect(await attempt(() => run('connection-thief', { env: from(name) }))).toMatch(
        new RegExp(`secrets: .*is ${name}, which is the connection Secret of (Database users|Service user-api)`),
      );
    }
    // What the broker made is not denied by name, so it is refused where it is.
    await run('broker-thief', { env: from('user-api-bindings') });
    expect(await refused('broker-thief')).toContain('neither bound to this Service');
    const own = { spec: { env: [{ name: 'HOST', valueFrom: { secretKeyRef: { name: copy, key: 'host' } } }] } };
    await ada.patch(resourceOf('Service'), { namespace, name: 'user-api' }, { type: 'merge', body: own });
    await objects.ready('Service', 'user-api');
    expect(JSON.stringify(await deployment('user-api'))).toContain(copy);
  });

  test('a value of the secret store that is marked for other namespaces', async () => {
    await stage.addBroker('stored', loadKubeconfig({ file: stage.plane.kubeconfig }), {
      secretStoreNamespace: 'default',
    });
    await put('stored', { [mark]: 'team-frontend' }, 'default');
    const keys = [{ name: 'k', remoteRef: { path: 'stored' } }];
    await objects.create('Secret', 'fetched', { targetRef: { name: 'stored' }, keys });
    expect(await refused('fetched', 'Secret')).toContain('not marked as usable by namespace team-backend');
    const body = { metadata: { annotations: { [mark]: 'team-frontend, team-backend' } } };
    await admin.patch(coreSecrets, { namespace: 'default', name: 'stored' }, { type: 'merge', body });
    await objects.ready('Secret', 'fetched');
  });
});

describe('is mounted', () => {
  test.each([
    { reason: 'marked for this Service', name: 'marked' },
    { reason: 'marked for all Services', name: 'everybodys' },
  ])('a Secret $reason', async ({ name }) => {
    await run(`uses-${name}`, { env: from(name) });
    await objects.ready('Service', `uses-${name}`);
    expect(JSON.stringify(await deployment(`uses-${name}`))).toContain(`"name":"${name}"`);
  });

  test('a refused Secret once an administrator marks it, without a change of the Service', async () => {
    await put('late');
    await run('waits', { env: from('late') });
    await refused('waits');
    const body = { metadata: { annotations: { [mark]: 'waits' } } };
    await admin.patch(coreSecrets, { namespace, name: 'late' }, { type: 'merge', body });
    await objects.ready('Service', 'waits');
  });
});
