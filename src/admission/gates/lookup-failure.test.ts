import { expect, test } from 'vitest';
import { ApiError, ConfigError, ConnectionError } from '../../runtime/index.ts';
import { lookupFailure } from './lookup-failure.ts';

test.each([
  {
    reason: 'the address of the API server',
    error: new ConnectionError({
      ...{ doing: 'list databases', failure: 'timeout', hint: 'Check /etc/kidp/kubeconfig' },
      message: 'https://10.0.0.1:6443 did not answer within 5 ms',
    }),
    shown: 'the API server did not answer (timeout)',
  },
  {
    reason: 'the path of a file',
    error: new ConfigError({ code: 'token', message: 'cannot read /var/run/secrets/token', hint: 'Mount it' }),
    shown: 'the lookup failed',
  },
  { reason: 'a bug', error: new TypeError('Cannot read properties of null'), shown: 'the lookup failed' },
  { reason: 'what is no error', error: 'https://10.0.0.1', shown: 'the lookup failed' },
  {
    reason: 'nothing internal: the API server says it to every client',
    error: new ApiError({
      doing: 'list databases',
      status: 403,
      reason: 'Forbidden',
      message: 'databases is forbidden',
    }),
    shown: 'list databases: databases is forbidden',
  },
])('a user is not shown $reason', ({ error, shown }) => {
  expect(lookupFailure(error)).toBe(shown);
});
