import { expect, test } from 'vitest';
import { ApiError, type Client } from '../../runtime/index.ts';
import { connectionName } from '../bindings/connection.ts';
import type { Deployable } from './deployable.ts';
import { sealedBindings } from './seal.ts';

const names = { kind: 'Service', metadata: { name: 'api', namespace: 'team' } };
const copyName = connectionName(names, { kind: 'Database', metadata: { namespace: 'team', name: 'users' } });
const users = { kind: 'Database', namespace: 'team', name: 'users', connectionSecret: copyName };
const object = {
  ...names,
  metadata: { ...names.metadata, uid: 'u' },
  status: {
    bindings: [users, { kind: 'Service', namespace: 'team', name: 'other' }],
  },
} as unknown as Deployable;

const clientWith = (get: (key: { name: string }) => unknown): Client =>
  ({ get: async (_resource: unknown, key: { name: string }) => get(key) }) as unknown as Client;
const stored = clientWith(({ name }) => ({
  metadata: { name, ownerReferences: [{ controller: true, uid: 'u' }] },
  data: { password: Buffer.from('p').toString('base64') },
}));
const seal = async (broker: string, values: object) => `${broker}:${JSON.stringify(values)}`;

test('each connection is encrypted to the broker that it goes to', async () => {
  expect(await sealedBindings(object, 'azure', stored, seal)).toEqual(new Map([[copyName, 'azure:{"password":"p"}']]));
});

test.each([
  { reason: 'another name', bindings: [{ ...users, connectionSecret: 'password' }], owner: 'u' },
  { reason: 'the Secret of another user', bindings: [users], owner: 'x' },
])('nothing is sent for a binding that is forged: $reason', async ({ bindings, owner }) => {
  const client = clientWith(({ name }) => ({
    metadata: { name, ownerReferences: [{ controller: true, uid: owner }] },
    data: { password: 'cA==' },
  }));
  const forged = { ...object, status: { bindings } } as unknown as Deployable;
  expect((await sealedBindings(forged, 'azure', client, seal)).size).toBe(0);
});

test.each([
  { reason: 'encryption is not configured', client: stored, with: undefined },
  { reason: 'the broker has published no key', client: stored, with: async () => undefined },
  {
    reason: 'the Secret was deleted with its binding',
    client: clientWith(({ name }) => {
      throw new ApiError({ doing: 'reading', status: 404, reason: 'NotFound', message: `secrets "${name}" not found` });
    }),
    with: seal,
  },
])('only the reference is sent if $reason', async ({ client, with: encrypt }) => {
  expect((await sealedBindings(object, 'azure', client, encrypt)).size).toBe(0);
});

test('an incomplete message is not sent: unreadable key or Secret', async () => {
  const away = async () => {
    throw new Error('the keys are unavailable');
  };
  await expect(sealedBindings(object, 'azure', stored, away)).rejects.toThrow('the keys are unavailable');
  const refusing = clientWith(() => {
    throw new ApiError({ doing: 'reading', status: 403, reason: 'Forbidden', message: 'no' });
  });
  await expect(sealedBindings(object, 'azure', refusing, seal)).rejects.toThrow('no');
});
