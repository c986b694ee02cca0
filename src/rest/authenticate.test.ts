import { generateKeyPair, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { systemClock } from '../runtime/index.ts';
import { authenticate } from './authenticate.ts';

const { publicKey, privateKey } = await generateKeyPair('ES256');

const userOf = async (sub: string, userPrefix?: string): Promise<string> => {
  const token = await new SignJWT({ sub })
    .setProtectedHeader({ alg: 'ES256' })
    .setAudience('kidp')
    .setExpirationTime('1h')
    .sign(privateKey);
  const rules = { keys: async () => publicKey, audience: 'kidp', userPrefix, clock: systemClock };
  return (await authenticate(`Bearer ${token}`, rules)).user;
};

test.each([
  { reason: 'without a prefix', sub: 'ada', prefix: undefined, user: 'ada' },
  { reason: 'with a prefix', sub: 'ada', prefix: 'oidc:', user: 'oidc:ada' },
  {
    reason: 'a system: name behind a prefix is harmless',
    sub: 'system:admin',
    prefix: 'oidc:',
    user: 'oidc:system:admin',
  },
  { reason: 'the maximum length', sub: 'a'.repeat(256), prefix: undefined, user: 'a'.repeat(256) },
])('user name: $reason', async ({ sub, prefix, user }) => {
  expect(await userOf(sub, prefix)).toBe(user);
});

test.each([
  { reason: 'a system: name', sub: 'system:admin', prefix: undefined },
  { reason: 'a system: name completed by the prefix', sub: 'tem:admin', prefix: 'sys' },
  { reason: 'nobody', sub: '', prefix: 'oidc:' },
  { reason: 'leading space', sub: ' ada', prefix: 'oidc:' },
  { reason: 'header injection', sub: 'ada\r\nimpersonate-group: system:masters', prefix: undefined },
  { reason: 'too long with the prefix', sub: 'a'.repeat(256), prefix: 'oidc:' },
])('rejects the user name: $reason', async ({ sub, prefix }) => {
  await expect(userOf(sub, prefix)).rejects.toMatchObject({ status: 401, code: 'no-user' });
});
