import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../runtime/index.ts';
import { declareRest, type RestFlags } from '../flags/rest.ts';
import { restServing } from './rest.ts';

function flags(...words: string[]): RestFlags {
  const command = declareRest(new Command())
    .exitOverride()
    .configureOutput({ writeErr() {} });
  return command.parse(words, { from: 'user' }).opts<RestFlags>();
}
const served = (...words: string[]) => restServing(flags(...words), '::', silentLogger);

test('is not served without a port', () => {
  expect(served('--rest-issuer', 'https://login.example.com')).toBeUndefined();
});

describe('token keys', () => {
  test.each([
    {
      reason: 'an issuer',
      words: ['--rest-issuer', 'https://login.example.com'],
      keys: { issuer: 'https://login.example.com' },
    },
    {
      reason: 'a JWKS URL',
      words: ['--rest-jwks', 'https://login.example.com/keys'],
      keys: { uri: 'https://login.example.com/keys' },
    },
    { reason: 'a file', words: ['--rest-jwks', '/etc/kidp/jwks.json'], keys: { file: '/etc/kidp/jwks.json' } },
    {
      reason: 'an issuer whose keys are in a file',
      words: ['--rest-issuer', 'https://login.example.com', '--rest-jwks', 'jwks.json'],
      keys: { file: 'jwks.json' },
    },
  ])('$reason', ({ words, keys }) => {
    expect(served('--rest-port', '8445', ...words)).toMatchObject({
      host: '::',
      port: 8445,
      tls: 'webhook',
      authentication: { keys, audience: 'kidp', userClaim: 'sub', groupsClaim: 'groups' },
    });
  });

  test('no keys are bad input', () => {
    expect(() => served('--rest-port', '8445')).toThrow(expect.objectContaining({ code: 'input/rest-keys' }));
  });
});

test('maps groups of the issuer to roles', () => {
  expect(flags('--rest-group', 'ops=kidp:admin', 'a=b=kidp:viewer').restGroup).toEqual({
    ops: 'kidp:admin',
    'a=b': 'kidp:viewer',
  });
});

test.each([
  { text: 'ops', code: 'commander.invalidArgument' },
  { text: '=kidp:admin', code: 'commander.invalidArgument' },
  { text: 'ops=', code: 'input/rest-group' },
  { text: 'ops=system:masters', code: 'input/rest-group' },
  { text: 'ops=kidp:root', code: 'input/rest-group' },
])('rejects the mapping $text', ({ text, code }) => {
  expect(() => served('--rest-port', '0', '--rest-jwks', 'keys', '--rest-group', text)).toThrow(
    expect.objectContaining({ code }),
  );
});

test('prefixes each user name', () => {
  const words = ['--rest-port', '0', '--rest-jwks', 'keys', '--rest-user-prefix'];
  expect(served(...words, 'oidc:')).toMatchObject({ authentication: { userPrefix: 'oidc:' } });
  for (const text of ['', 'system:', 'system:serviceaccount:', 'a b', 'ä']) {
    expect(() => served(...words, text)).toThrow(expect.objectContaining({ code: 'commander.invalidArgument' }));
  }
});
