import { describe, expect, test } from 'vitest';
import { exitCodeOf } from '../common/failure.ts';
import { webhookAddress } from './webhook-address.ts';

describe('webhook address', () => {
  const rows = [
    { reason: 'loopback, any port', options: {}, address: { host: '127.0.0.1', port: 0 } },
    { reason: 'a given port', options: { webhookPort: 8443 }, address: { host: '127.0.0.1', port: 8443 } },
    {
      reason: 'a name for a cluster elsewhere',
      options: { webhookHost: 'dev.example.com', webhookPort: 8443 },
      address: { host: '0.0.0.0', port: 8443, target: { url: 'https://dev.example.com:8443' } },
    },
    {
      reason: 'an IPv6 address goes in brackets',
      options: { webhookHost: 'fd00::1', webhookPort: 8443 },
      address: { host: '0.0.0.0', port: 8443, target: { url: 'https://[fd00::1]:8443' } },
    },
  ];
  test.each(rows)('$reason', ({ options, address }) => {
    expect(webhookAddress(options)).toEqual(address);
  });

  test('a name without a port is bad input', () => {
    let failure: unknown;
    try {
      webhookAddress({ webhookHost: 'dev.example.com' });
    } catch (error) {
      failure = error;
    }
    expect(exitCodeOf(failure)).toBe(2);
  });
});
