import { describe, expect, test } from 'vitest';
import { listenAddress, webhookTarget } from './address.ts';

describe('webhook target', () => {
  test.each([
    {
      reason: 'a Service in the platform’s namespace',
      options: { service: 'kidp' },
      target: { service: { namespace: 'kidp-system', name: 'kidp' } },
    },
    {
      reason: 'an address outside the cluster',
      options: { url: 'https://10.0.0.1:8443/' },
      target: { url: 'https://10.0.0.1:8443' },
    },
    {
      reason: 'an IPv6 address',
      options: { url: 'https://[fd00::1]:8443' },
      target: { url: 'https://[fd00::1]:8443' },
    },
  ])('$reason', ({ options, target }) => {
    expect(webhookTarget(options, 'kidp-system')).toEqual(target);
  });

  test.each([
    { reason: 'neither', options: {}, code: 'input/webhook-target' },
    { reason: 'both', options: { service: 'kidp', url: 'https://h:1' }, code: 'input/webhook-target' },
    { reason: 'no https', options: { url: 'http://h:1' }, code: 'input/webhook-url' },
    { reason: 'a path', options: { url: 'https://h:1/kidp' }, code: 'input/webhook-url' },
    { reason: 'not a URL', options: { url: 'h:1' }, code: 'input/webhook-url' },
  ])('is bad input: $reason', ({ options, code }) => {
    expect(() => webhookTarget(options, 'kidp-system')).toThrow(expect.objectContaining({ code }));
  });
});

test('listens on IPv6 if the machine has it', () => {
  expect(listenAddress({ lo: [{ family: 'IPv4' }, { family: 'IPv6' }] })).toBe('::');
  expect(listenAddress({ eth0: [{ family: 'IPv4' }], gone: undefined })).toBe('0.0.0.0');
});
