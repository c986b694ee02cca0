import { expect, test } from 'vitest';
import { tokenAddress } from './registry.ts';

const far = { origin: 'https://registry.example.com', path: 'charts/shop' };
const near = { origin: 'http://127.0.0.1:5000', path: 'charts/shop' };

test.each([
  {
    reason: 'elsewhere',
    place: far,
    challenge: 'Bearer realm="https://auth.example.com/token",service="registry"',
    expected: 'https://auth.example.com/token?service=registry&scope=repository%3Acharts%2Fshop%3Apull',
  },
  {
    reason: 'on this machine, by a registry on it',
    place: near,
    challenge: 'Bearer realm="http://127.0.0.1:5001/token",scope="all"',
    expected: 'http://127.0.0.1:5001/token?scope=all',
  },
])('a token is requested $reason', ({ place, challenge, expected }) => {
  expect(tokenAddress(challenge, place).href).toBe(expected);
});

test.each([
  { reason: 'nowhere', realm: 'token', message: 'https://registry.example.com names no token endpoint' },
  ...['https://127.0.0.1:6443/', 'https://localhost/', 'https://[::1]/', 'http://127.0.0.1/'].map((realm) => ({
    reason: `at ${realm} by a registry elsewhere`,
    realm,
    message: 'https://registry.example.com names a token endpoint that is not allowed',
  })),
])('a token is not requested $reason', ({ realm, message }) => {
  expect(() => tokenAddress(`Bearer realm="${realm}"`, far)).toThrow(
    expect.objectContaining({ code: 'chart/unreachable', message }),
  );
});
