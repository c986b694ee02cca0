import { expect, test } from 'vitest';
import { ApiError, type Client } from '../../runtime/index.ts';
import type { Deployable } from './deployable.ts';
import { sealedBindings } from './seal.ts';

const object = {
  metadata: { name: 'api', namespace: 'team' },
  status: {
    bindings: [
      { kind: 'Database', namespace: 'team', name: 'users', connectionSecret: 'users-copy' },
      { kind: 'Service', namespace: 'team', name: 'other' },
    ],
  },
} as unknown as Deployable;

const clientWith = (get: (key: { name: string }) => unknown): Client =>
  ({ get: async (_resource: unknown, key: { name: string }) => get(key) }) as unknown as Client;
const stored = clientWith(({ name }) => ({
  metadata: { name },
  data: { password: Buffer.from('p').toString('base64') },
}));
const seal = async (broker: string, values: object) => `${broker}:${JSON.stringify(values)}`;

test('each connection is encrypted to the broker that it goes to', async () => {
  expect(await sealedBindings(object, 'azure', stored, seal)).toEqual(
    new Map([['users-copy', 'azure:{"password":"p"}']]),
  );
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
