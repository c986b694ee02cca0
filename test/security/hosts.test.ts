/** A developer who takes hosts of other teams, and administrators who give one host to two teams. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { namespaces } from '../admission/support/platform.ts';
import { create, createTeam, patient, resourceOf, whenCondition } from '../platform/support/setup.ts';
import { type GuardedPlatform, startGuardedPlatform } from './support/guarded-platform.ts';

let platform: GuardedPlatform;
let client: Client;
let ada: Client;

beforeAll(async () => {
  platform = await startGuardedPlatform({ dispatches: false });
  ({ client } = platform);
  ada = platform.as('ada');
  const rbac = { members: ['ada'] };
  const red = await createTeam(client, 'red', { rbac, hosts: ['shop.example.com', '*.red.example.com'] });
  const blue = await createTeam(client, 'blue', { hosts: ['blue.example.com', '*.blue.example.com'] });
  const plain = await createTeam(client, 'plain', { rbac });
  for (const team of [red, blue, plain]) await whenCondition(client, team, { status: 'True' });
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'nobodys' } });
  const owner = { kind: 'Team', name: 'blue' };
  await create(client, { kind: 'Application', namespace: 'nobodys', name: 'shop', spec: { owner } });
  await eventually(async () => (await attempt(() => expose('probe', 'blue.example.com'))).includes('hosts:'), patient);
});
afterAll(() => platform?.stop());

const attempt = (request: () => Promise<unknown>): Promise<string> =>
  request().then(
    () => '',
    (error: unknown) => (error as Error).message,
  );
const expose = (name: string, host: string, more: object = {}, namespace = 'red') =>
  create(ada, { kind: 'Service', namespace, name, spec: { loadBalancer: { host, ...more } } });

describe('a host of a Service', () => {
  test.each([
    { host: 'blue.example.com', reason: 'of another team' },
    { host: 'x.blue.example.com', reason: 'in the domain of another team' },
    { host: 'free.example.com', reason: 'of nobody' },
    { host: 'red.example.com', reason: 'the domain itself, of which only names below are ours' },
    { host: '*.example.com', reason: 'a wildcard over all teams' },
    { host: '*.shop.example.com', reason: 'a wildcard below a name' },
    { host: '*.com', reason: 'a wildcard over a top-level domain' },
    { host: 'notred.example.com', reason: 'the same ending' },
  ])('denied: $reason', async ({ host }) => {
    const denial = await attempt(() => expose('denied', host));
    expect(denial).toContain(
      `${host} does not belong to Team red, which has shop.example.com, *.red.example.com. Use a host of the team`,
    );
  });

  test('denied: a team without hosts has none', async () => {
    const denial = await attempt(() => expose('denied', 'any.example.com', {}, 'plain'));
    expect(denial).toContain('any.example.com does not belong to Team plain, which has no hosts');
  });

  test.each([
    { owner: { kind: 'Team', name: 'blue' }, reason: 'of a Team' },
    { owner: { kind: 'Application', name: 'shop' }, reason: 'of an Application of that Team' },
  ])('denied: in a namespace of no Team, with the hosts of its owner: $reason', async ({ owner }) => {
    const spec = { owner, loadBalancer: { host: 'x.blue.example.com' } };
    const denial = await attempt(() => create(client, { kind: 'Service', namespace: 'nobodys', name: 'taker', spec }));
    expect(denial).toContain('x.blue.example.com cannot be used in namespace nobodys, which belongs to no Team');
  });

  test('denied: another team’s by an update, by any kind of patch', async () => {
    await expose('changed', 'changed.red.example.com');
    const key = { namespace: 'red', name: 'changed' };
    const path = '/spec/loadBalancer/host';
    const host = 'blue.example.com';
    const attempts = [
      () => ada.patch(resourceOf('Service'), key, { type: 'merge', body: { spec: { loadBalancer: { host } } } }),
      () => ada.patch(resourceOf('Service'), key, { type: 'json', body: [{ op: 'replace', path, value: host }] }),
      () =>
        ada.apply(
          resourceOf('Service'),
          {
            apiVersion: 'platform.company.com/v1',
            kind: 'Service',
            metadata: key,
            spec: { loadBalancer: { host } },
          } as never,
          { fieldManager: 'ada', force: true },
        ),
    ];
    for (const request of attempts) expect(await attempt(request)).toContain('does not belong to Team red');
  });

  test('denied: enabling what was disabled', async () => {
    await expose('disabled', 'blue.example.com', { enabled: false });
    const body = { spec: { loadBalancer: { enabled: true } } };
    const key = { namespace: 'red', name: 'disabled' };
    expect(await attempt(() => ada.patch(resourceOf('Service'), key, { type: 'merge', body }))).toContain(
      'does not belong to Team red',
    );
  });

  test.each([
    'shop.example.com',
    'a.red.example.com',
    'b.a.red.example.com',
    '*.red.example.com',
  ])('admitted: %s of its team', async (host) => {
    await expose(`own-${host.replaceAll(/[^a-z]/g, '-')}x`, host);
  });

  test('denied: of another team, without a word about what that team runs', async () => {
    const spec = { loadBalancer: { host: 'used.blue.example.com', path: '/internal' } };
    await create(client, { kind: 'Service', namespace: 'blue', name: 'unannounced', spec });
    await eventually(async () => {
      const denial = await attempt(() => expose('curious', 'used.blue.example.com'));
      expect(denial).toContain('is already used by a Service in another namespace');
      expect(denial).not.toMatch(/unannounced|blue\/|internal/);
    }, patient);
  });

  test('denied: a second Service with the same host and path; another path is admitted', async () => {
    await expose('first', 'one.red.example.com');
    await eventually(
      async () =>
        expect(await attempt(() => expose('second', 'one.red.example.com'))).toContain(
          'one.red.example.com with the path / is already used by Service red/first',
        ),
      patient,
    );
    await expose('third', 'one.red.example.com', { path: '/api' });
    const key = { namespace: 'red', name: 'first' };
    await ada.patch(resourceOf('Service'), key, { type: 'merge', body: { metadata: { labels: { any: 'thing' } } } });
    await ada.delete(resourceOf('Service'), key);
    await eventually(() => expose('second', 'one.red.example.com'), patient);
  });
});

describe('the hosts of a Team', () => {
  const hosts = (name: string, list: string[]) => attempt(() => createTeam(client, name, { hosts: list }));

  test.each([
    { list: ['shop.example.com'], taken: 'shop.example.com of Team red', reason: 'the same name' },
    { list: ['x.red.example.com'], taken: '*.red.example.com of Team red', reason: 'a name in a domain' },
    { list: ['*.x.red.example.com'], taken: '*.red.example.com of Team red', reason: 'a narrower wildcard' },
    { list: ['*.example.com'], taken: 'shop.example.com of Team red', reason: 'a wider wildcard' },
  ])('overlap with another Team: $reason', async ({ list, taken }) => {
    const denial = await hosts('green', list);
    expect(denial).toContain(`${list[0]} overlaps with `);
    expect(denial).toContain(taken);
  });

  test('are not a developer’s to write', async () => {
    const body = { spec: { hosts: ['*.example.com'] } };
    expect(await attempt(() => ada.patch(resourceOf('Team'), { name: 'red' }, { type: 'merge', body }))).toMatch(
      /User "ada" cannot patch resource "teams"/,
    );
  });

  test('can be added and removed by an administrator, and then take effect', async () => {
    const team = { name: 'plain' };
    await client.patch(resourceOf('Team'), team, { type: 'merge', body: { spec: { hosts: ['late.example.com'] } } });
    await expose('late', 'late.example.com', {}, 'plain');
  });
});
