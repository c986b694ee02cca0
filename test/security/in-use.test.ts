/** An administrator who deletes a Broker or DeploymentTarget that others still need. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client, UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { create, createTeam, patient, resourceOf, whenCondition, writeStatus } from '../platform/support/setup.ts';
import { type GuardedPlatform, startGuardedPlatform } from './support/guarded-platform.ts';

let platform: GuardedPlatform;
let client: Client;
let grace: Client;

beforeAll(async () => {
  platform = await startGuardedPlatform();
  ({ client } = platform);
  await platform.kubectl(['create', 'clusterrolebinding', 'admins', '--clusterrole=platform-admin', '--user=grace']);
  grace = platform.as('grace');
  await whenCondition(client, await createTeam(client, 'red'), { status: 'True' });
  await create(client, {
    kind: 'Broker',
    name: 'onprem',
    spec: { channel: 'HTTP', endpoint: 'https://broker.example' },
  });
  const spec = { provider: 'onprem', brokerRef: { name: 'onprem' } };
  await create(client, { kind: 'DeploymentTarget', name: 'prod', spec });
  await create(client, { kind: 'DeploymentTarget', name: 'idle', spec: { provider: 'onprem' } });
  for (let number = 1; number <= 7; number += 1) {
    await create(client, {
      kind: 'Cache',
      namespace: 'red',
      name: `c${number}`,
      spec: { targetRef: { name: 'prod' } },
    });
  }
  await eventually(async () => (await remove('DeploymentTarget', 'prod')).includes('in-use:'), patient);
});
afterAll(() => platform?.stop());

const remove = (kind: string, name: string): Promise<string> =>
  grace.delete(resourceOf(kind), { name }).then(
    () => '',
    (error: unknown) => (error as Error).message,
  );

test('a DeploymentTarget in use is kept, and the users are listed', async () => {
  expect(await remove('DeploymentTarget', 'prod')).toMatch(
    /in-use: DeploymentTarget prod is used by 7 objects \(Cache red\/c1, Cache red\/c2, .*, …\)\. Delete these objects or move them first/,
  );
});

test('a Broker in use is kept: for its targets, and for what it has deployed', async () => {
  expect(await remove('Broker', 'onprem')).toContain('Broker onprem is used by 1 object (DeploymentTarget prod)');
  const cache = await client.get<UnknownObject>(resourceOf('Cache'), { namespace: 'red', name: 'c1' });
  await writeStatus(client, cache, { deploymentId: 'x/1/0', targetRef: { name: 'prod', broker: 'onprem' } });
  expect(await remove('Broker', 'onprem')).toContain('2 objects (DeploymentTarget prod, Cache red/c1)');
});

test('all at once are kept too', async () => {
  const { status } = await grace.request({ method: 'DELETE', path: '/apis/platform.company.com/v1/deploymenttargets' });
  expect(status).toBe(403);
  await client.get(resourceOf('DeploymentTarget'), { name: 'prod' });
});

test('what nobody uses is deleted', async () => {
  await create(client, { kind: 'DeploymentTarget', name: 'unused', spec: { provider: 'onprem' } });
  expect(await remove('DeploymentTarget', 'unused')).toBe('');
});

test('a deletion can be confirmed, with the UID of the object only', async () => {
  const { metadata } = await client.get(resourceOf('DeploymentTarget'), { name: 'prod' });
  const confirm = (uid: string | undefined) =>
    grace.patch(
      resourceOf('DeploymentTarget'),
      { name: 'prod' },
      { type: 'merge', body: { metadata: { annotations: { 'platform.company.com/confirm-delete': uid } } } },
    );
  await confirm('another');
  expect(await remove('DeploymentTarget', 'prod')).toContain('is used by');
  await confirm(metadata.uid);
  expect(await remove('DeploymentTarget', 'prod')).toBe('');
});
