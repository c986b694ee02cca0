import { expect, test } from 'vitest';
import type { DeploymentRequest } from '../../messages.ts';
import { environmentOf } from './bindings.ts';

const sources = {
  decrypt: async (jwe: string) => ({ password: `decrypted ${jwe}` }),
  secret: async (namespace: string, name: string) => (namespace === 'here' ? { host: `${name}.svc` } : undefined),
};
const request = (bindings: DeploymentRequest['bindings']) => ({ bindings }) as DeploymentRequest;

const database = { kind: 'Database', namespace: 'here', name: 'user-db', credentials: 'a' } as const;
const sealed = (kind: 'Service' | 'Topic' | 'Secret', namespace: string, name: string, credentials = 'b') =>
  ({ kind, namespace, name, credentials }) as const;

test('entries become variables named by kind and name, whatever else is bound', async () => {
  const bindings = [
    database,
    { kind: 'Cache', namespace: 'here', name: 'c', secret: { namespace: 'here', name: 'c-conn', revision: '1' } },
    sealed('Topic', 'one', 'user-db'),
  ] as const;
  const all = await environmentOf(request(bindings), sources);
  expect(all).toEqual({
    DATABASE_USER_DB_PASSWORD: 'decrypted a',
    CACHE_C_HOST: 'c-conn.svc',
    TOPIC_USER_DB_PASSWORD: 'decrypted b',
  });
  expect(all).toMatchObject(await environmentOf(request([database]), sources));
});

test.each([
  {
    reason: 'names that fold to one',
    bindings: [sealed('Service', 'here', 'pay-ments'), sealed('Service', 'here', 'pay.ments')],
    message:
      'entry password of Service here/pay-ments and entry password of Service here/pay.ments are both the variable SERVICE_PAY_MENTS_PASSWORD',
  },
  {
    reason: 'one name in two namespaces',
    bindings: [sealed('Topic', 'one', 't'), sealed('Topic', 'two', 't')],
    message: 'Topic one/t and entry password of Topic two/t',
  },
  {
    reason: 'a name that ends as the key of another begins',
    bindings: [sealed('Secret', 'here', 'a', 'split'), sealed('Secret', 'here', 'a-b')],
    message: 'entry b.password of Secret here/a and entry password of Secret here/a-b',
  },
  {
    reason: 'two keys of one resource',
    bindings: [sealed('Secret', 'here', 'a', 'twice')],
    message: 'entry pass-word of Secret here/a and entry pass.word of Secret here/a',
  },
])('two entries of one variable are an error, and nothing is overwritten: $reason', async ({ bindings, message }) => {
  const decrypt = async (jwe: string): Promise<Record<string, string>> => {
    if (jwe === 'split') return { 'b.password': '' };
    return jwe === 'twice' ? { 'pass-word': '', 'pass.word': '' } : { password: jwe };
  };
  await expect(environmentOf(request(bindings), { ...sources, decrypt })).rejects.toMatchObject({
    code: 'variable-conflict',
    message: expect.stringContaining(message),
  });
});

test('a connection that did not come is a failure, not an empty variable', async () => {
  const bindings = [
    { kind: 'Cache', namespace: 'x', name: 'c', secret: { namespace: 'elsewhere', name: 's', revision: '1' } },
  ] as const;
  await expect(environmentOf(request(bindings), sources)).rejects.toMatchObject({ code: 'binding-unreachable' });
});
