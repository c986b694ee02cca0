import { expect, test } from 'vitest';
import { isLoopback } from './loopback.ts';

test.each([
  { host: 'localhost', is: true, reason: 'the name of this machine' },
  { host: '127.0.0.1', is: true, reason: 'the usual address' },
  { host: '127.8.9.10', is: true, reason: 'all of 127.0.0.0/8 is loopback' },
  { host: '::1', is: true, reason: 'IPv6, as a listen address spells it' },
  { host: '[::1]', is: true, reason: 'IPv6, as a URL spells it' },
  { host: '127.example.com', is: false, reason: 'a name that begins like an address' },
  { host: 'localhost.example.com', is: false, reason: 'a name that begins with localhost' },
  { host: '0.0.0.0', is: false, reason: 'every address of this machine' },
  { host: '10.0.0.1', is: false, reason: 'another machine' },
])('$host: $is ($reason)', ({ host, is }) => {
  expect(isLoopback(host)).toBe(is);
});
