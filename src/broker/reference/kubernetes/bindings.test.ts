import { expect, test } from 'vitest';
import type { DeploymentRequest } from '../../messages.ts';
import { environmentOf } from './bindings.ts';

const sources = {
  decrypt: async (jwe: string) => ({ password: `decrypted ${jwe}` }),
  secret: async (namespace: string, name: string) => (namespace === 'here' ? { host: `${name}.svc` } : undefined),
};
const request = (bindings: DeploymentRequest['bindings']) => ({ bindings }) as DeploymentRequest;

test('entries become variables named by kind and name; of two of one name, by namespace too', async () => {
  const bindings = [
    { kind: 'Database', namespace: 'here', name: 'user-db', credentials: 'a' },
    { kind: 'Cache', namespace: 'here', name: 'c', secret: { namespace: 'here', name: 'c-conn', revision: '1' } },
    { kind: 'Topic', namespace: 'one', name: 't', credentials: 'b' },
    { kind: 'Topic', namespace: 'two', name: 't', credentials: 'c' },
  ] as const;
  expect(await environmentOf(request(bindings), sources)).toEqual({
    DATABASE_USER_DB_PASSWORD: 'decrypted a',
    CACHE_C_HOST: 'c-conn.svc',
    TOPIC_ONE_T_PASSWORD: 'decrypted b',
    TOPIC_TWO_T_PASSWORD: 'decrypted c',
  });
});

test('a connection that did not come is a failure, not an empty variable', async () => {
  const bindings = [
    { kind: 'Cache', namespace: 'x', name: 'c', secret: { namespace: 'elsewhere', name: 's', revision: '1' } },
  ] as const;
  await expect(environmentOf(request(bindings), sources)).rejects.toMatchObject({ code: 'binding-unreachable' });
});
