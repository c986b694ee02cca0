/** Somebody who may write namespaces, and tries to make one another team's by its label. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TEAM_LABEL } from '../../src/api/index.ts';
import { RESOURCE_UID_LABEL } from '../../src/broker/index.ts';
import type { Client, UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { configurations, namespaces } from '../admission/support/platform.ts';
import { coreSecrets, create, createTeam, patient, whenCondition, writeStatus } from '../platform/support/setup.ts';
import { type GuardedPlatform, startGuardedPlatform } from './support/guarded-platform.ts';

let platform: GuardedPlatform;
let client: Client;
let attacker: Client;

beforeAll(async () => {
  platform = await startGuardedPlatform();
  ({ client } = platform);
  const role = ['create', 'clusterrole', 'namespace-writer', '--verb=*'];
  await platform.kubectl([...role, '--resource=namespaces,namespaces/status,namespaces/finalize']);
  await platform.kubectl([
    'create',
    'clusterrolebinding',
    'namespace-writer',
    '--clusterrole=namespace-writer',
    '--user=eve',
  ]);
  attacker = platform.as('eve');
  for (const name of ['red', 'blue']) await whenCondition(client, await createTeam(client, name), { status: 'True' });
  await attacker.create(namespaces, namespace('eves'));
  await eventually(async () => (await attempt(() => label('eves', 'red'))) !== '', patient);
});
afterAll(() => platform?.stop());

const namespace = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});
const attempt = (request: () => Promise<unknown>): Promise<string> =>
  request().then(
    () => '',
    (error: unknown) => (error as Error).message,
  );
const body = (value: string | null, key = TEAM_LABEL) => ({ metadata: { labels: { [key]: value } } });
const label = (name: string, value: string | null, more: { subresource?: string } = {}) =>
  attacker.patch(namespaces, { name }, { type: 'merge', body: body(value), ...more });
async function send(method: 'POST' | 'PUT', path: string, object: object) {
  const { status, text } = await attacker.request({ method, path, body: object });
  if (status >= 300) throw new Error(text);
}
/** Writes the whole object through a subresource, as the namespace controller does. */
async function put(name: string, path: string, change: (object: UnknownObject) => UnknownObject) {
  const object = change(await client.get<UnknownObject>(namespaces, { name }));
  await send('PUT', `/api/v1/namespaces/${name}/${path}`, object);
}
const withLabel = (value: string) => (object: UnknownObject) => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, [TEAM_LABEL]: value } },
});
const withoutLabel = ({ metadata, ...object }: UnknownObject) => {
  const { [TEAM_LABEL]: _, ...labels } = metadata.labels ?? {};
  return { ...object, metadata: { ...metadata, labels } };
};

test.each<{ reason: string; request: () => Promise<unknown> }>([
  {
    reason: 'a new namespace as another team’s',
    request: () => attacker.create(namespaces, namespace('fake', { [TEAM_LABEL]: 'red' })),
  },
  {
    reason: 'a new namespace as its own team',
    request: () => attacker.create(namespaces, namespace('fake', { [TEAM_LABEL]: 'fake' })),
  },
  {
    reason: 'a generated name',
    request: () => send('POST', '/api/v1/namespaces', { metadata: { generateName: 'fake-', ...body('red').metadata } }),
  },
  { reason: 'a merge patch', request: () => label('eves', 'red') },
  { reason: 'an empty value', request: () => label('eves', '') },
  {
    reason: 'a JSON patch',
    request: () =>
      attacker.patch(
        namespaces,
        { name: 'eves' },
        {
          type: 'json',
          body: [{ op: 'add', path: `/metadata/labels/${TEAM_LABEL.replace('/', '~1')}`, value: 'red' }],
        },
      ),
  },
  {
    reason: 'server-side apply',
    request: () =>
      attacker.apply(namespaces, namespace('eves', { [TEAM_LABEL]: 'red' }), { fieldManager: 'eve', force: true }),
  },
  { reason: 'a patch of the status', request: () => label('eves', 'red', { subresource: 'status' }) },
  { reason: 'an update of the status', request: () => put('eves', 'status', withLabel('red')) },
  { reason: 'an update of the finalizers', request: () => put('eves', 'finalize', withLabel('red')) },
  { reason: 'another value on a team’s namespace', request: () => label('blue', 'red') },
  { reason: 'removal from a team’s namespace', request: () => label('blue', null) },
  { reason: 'removal through the status', request: () => label('blue', null, { subresource: 'status' }) },
  { reason: 'removal through the finalizers', request: () => put('blue', 'finalize', withoutLabel) },
])('denied: $reason', async ({ request }) => {
  expect(await attempt(request)).toMatch(/namespaces: .*the label platform.company.com\/team changes from .* to /);
});

test('what changes no team label is admitted', async () => {
  await attacker.patch(namespaces, { name: 'red' }, { type: 'merge', body: body('x', 'example.com/any') });
  await attacker.create(namespaces, namespace('plain', { 'example.com/team': 'red' }));
});

describe('a label that was stored while no webhook was there', () => {
  test('gives no credentials, and can be removed', async () => {
    await client.create(namespaces, namespace('theirs'));
    // The service account of the platform may set the label; this is as good as no webhook.
    const kidp = client.impersonate({ user: 'system:serviceaccount:kidp-system:kidp', groups: ['system:masters'] });
    await kidp.patch(namespaces, { name: 'theirs' }, { type: 'merge', body: body('red') });
    const labels = { app: 'target' };
    const database = await create(client, { kind: 'Database', namespace: 'red', name: 'users', labels });
    await client.create(coreSecrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'users-connection',
        namespace: 'red',
        labels: { [RESOURCE_UID_LABEL]: database.metadata.uid ?? '' },
      },
      data: { password: '' },
    } as UnknownObject);
    await writeStatus(client, database, {
      phase: 'ready',
      connectionSecret: { name: 'users-connection', revision: '1' },
    });
    const dependencies = { databaseSelector: { matchLabels: labels } };
    for (const [name, owner] of [
      ['ownerless', {}],
      ['owned', { owner: { kind: 'Team', name: 'red' } }],
    ] as const) {
      const thief = await create(client, {
        kind: 'Service',
        namespace: 'theirs',
        name,
        spec: { dependencies, ...owner },
      });
      await whenCondition(client, thief, { type: 'DependenciesBound', status: 'False', reason: 'NoMatch' });
    }
    expect((await client.list(coreSecrets, { namespace: 'theirs' })).items).toEqual([]);
    await label('theirs', null);
  });

  test('an object of a team in a namespace of none binds nothing there', async () => {
    const labels = { app: 'stray' };
    const owner = { kind: 'Team', name: 'red' };
    const stray = await create(client, {
      kind: 'Database',
      namespace: 'theirs',
      name: 'stray',
      labels,
      spec: { owner },
    });
    await client.create(coreSecrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'stray-connection',
        namespace: 'theirs',
        labels: { [RESOURCE_UID_LABEL]: stray.metadata.uid ?? '' },
      },
      data: { password: '' },
    } as UnknownObject);
    await writeStatus(client, stray, { phase: 'ready', connectionSecret: { name: 'stray-connection', revision: '1' } });
    const spec = { dependencies: { databaseSelector: { matchLabels: labels } } };
    const user = await create(client, { kind: 'Service', namespace: 'theirs', name: 'stray', spec });
    await whenCondition(client, user, { type: 'DependenciesBound', status: 'False', reason: 'NoMatch' });
  });
});

describe('while the platform does not answer', () => {
  beforeAll(async () => {
    const stored = await client.get(configurations('Validating'), { name: 'kidp-admission' });
    await client.patch(
      namespaces,
      { name: 'red' },
      { type: 'merge', body: { metadata: { finalizers: ['example.com/held'] } } },
    );
    await platform.admission.stop();
    const { uid, resourceVersion, ...metadata } = stored.metadata;
    await client.create(configurations('Validating'), { ...stored, metadata });
    await eventually(
      async () => (await attempt(() => label('eves', 'red'))).includes('failed calling webhook'),
      patient,
    );
  });
  afterAll(() => client?.delete(configurations('Validating'), { name: 'kidp-admission' }));

  test.each<{ reason: string; request: () => Promise<unknown> }>([
    { reason: 'a new namespace', request: () => attacker.create(namespaces, namespace('offline')) },
    {
      reason: 'another label on a namespace without a team',
      request: () => attacker.patch(namespaces, { name: 'eves' }, { type: 'merge', body: body('x', 'any') }),
    },
    {
      reason: 'another label on the namespace of a team',
      request: () => attacker.patch(namespaces, { name: 'red' }, { type: 'merge', body: body('x', 'any') }),
    },
    {
      reason: 'the removal of finalizers',
      request: () =>
        attacker.patch(namespaces, { name: 'red' }, { type: 'merge', body: { metadata: { finalizers: null } } }),
    },
    { reason: 'an update through finalize', request: () => put('red', 'finalize', (object) => object) },
  ])('$reason passes', async ({ request }) => {
    expect(await attempt(request)).toBe('');
  });

  test.each<{ reason: string; request: () => Promise<unknown> }>([
    {
      reason: 'a new namespace with the label',
      request: () => attacker.create(namespaces, namespace('fake', { [TEAM_LABEL]: 'red' })),
    },
    { reason: 'the removal of the label', request: () => label('red', null) },
  ])('$reason does not', async ({ request }) => {
    expect(await attempt(request)).toContain('failed calling webhook "validate-namespace-labels');
  });
});
