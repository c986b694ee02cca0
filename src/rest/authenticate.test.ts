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
  { reason: 'as the token says', sub: 'ada', prefix: undefined, user: 'ada' },
  { reason: 'behind the prefix', sub: 'ada', prefix: 'oidc:', user: 'oidc:ada' },
  { reason: 'no user of Kubernetes’ own behind it', sub: 'system:admin', prefix: 'oidc:', user: 'oidc:system:admin' },
  { reason: 'as long as can be', sub: 'a'.repeat(256), prefix: undefined, user: 'a'.repeat(256) },
])('a user is called $reason', async ({ sub, prefix, user }) => {
  expect(await userOf(sub, prefix)).toBe(user);
});

test.each([
  { reason: 'a user of Kubernetes’ own', sub: 'system:admin', prefix: undefined },
  { reason: 'one that the prefix completes', sub: 'tem:admin', prefix: 'sys' },
  { reason: 'nobody', sub: '', prefix: 'oidc:' },
  { reason: 'space before the name', sub: ' ada', prefix: 'oidc:' },
  { reason: 'what would be another header', sub: 'ada\r\nimpersonate-group: system:masters', prefix: undefined },
  { reason: 'too long behind the prefix', sub: 'a'.repeat(256), prefix: 'oidc:' },
])('refused: $reason', async ({ sub, prefix }) => {
  await expect(userOf(sub, prefix)).rejects.toMatchObject({ status: 401, code: 'no-user' });
});
