import { describe, expect, test } from 'vitest';
import { addressGuard } from './guard.ts';

const isAllowed = (allowed: string[], host: string, port: number): boolean => {
  try {
    addressGuard(allowed).demand(host, port);
    return true;
  } catch {
    return false;
  }
};

describe('IP addresses', () => {
  test.each([
    { host: '203.0.113.7', is: true, reason: 'the world' },
    { host: '10.1.2.3', is: true, reason: 'a private network' },
    { host: '192.168.0.9', is: true, reason: 'a private network' },
    { host: 'fd12::1', is: true, reason: 'a private network of IPv6' },
    { host: '64:ff9b::a01:203', is: true, reason: 'a private network through NAT64' },
    { host: '127.0.0.1', is: false, reason: 'loopback' },
    { host: '127.255.1.2', is: false, reason: 'all of loopback' },
    { host: '[::1]', is: false, reason: 'loopback of IPv6, as a URL spells it' },
    { host: '0.0.0.0', is: false, reason: 'unspecified, which Linux connects to loopback' },
    { host: '::', is: false, reason: 'unspecified of IPv6' },
    { host: '::127.0.0.1', is: false, reason: 'the deprecated form of IPv4 in IPv6' },
    { host: '::ffff:127.0.0.1', is: false, reason: 'the mapped form of IPv4' },
    { host: '::ffff:7f00:1', is: false, reason: 'the mapped form in hexadecimal' },
    { host: '169.254.169.254', is: false, reason: 'cloud metadata' },
    { host: '[::ffff:a9fe:a9fe]', is: false, reason: 'cloud metadata, mapped' },
    { host: '64:ff9b::a9fe:a9fe', is: false, reason: 'cloud metadata through NAT64' },
    { host: '2002:a9fe:a9fe::1', is: false, reason: 'cloud metadata through 6to4' },
    { host: 'fd00:ec2::254', is: false, reason: 'metadata of Amazon over IPv6' },
    { host: 'fd00:ec2::23', is: false, reason: 'pod identity of Amazon over IPv6' },
    { host: 'fd00:ec2::253', is: false, reason: 'DNS of Amazon over IPv6' },
    { host: 'fd00:ec3::23', is: true, reason: 'a private network next to it' },
    { host: '169.254.170.23', is: false, reason: 'pod identity of Amazon' },
    { host: 'fd20:ce::254', is: false, reason: 'metadata of Google over IPv6' },
    { host: 'fd20:cf::254', is: true, reason: 'a private network of Google' },
    { host: 'fd00:c1::a9fe:a9fe', is: false, reason: 'metadata of Oracle over IPv6' },
    { host: 'fd00:a9fe:a9fe::1', is: false, reason: 'metadata of Akamai over IPv6' },
    { host: 'fd00:42::42', is: false, reason: 'metadata of Scaleway over IPv6' },
    { host: 'fd00:100::100:200', is: false, reason: 'metadata of Alibaba over IPv6' },
    { host: 'fe80::a9fe:a9fe', is: false, reason: 'metadata of OpenStack over IPv6' },
    { host: '168.63.129.16', is: false, reason: 'metadata of Azure' },
    { host: '::ffff:168.63.129.16', is: false, reason: 'metadata of Azure, mapped' },
    { host: '::ffff:100.100.100.200', is: false, reason: 'metadata of Alibaba, mapped' },
    { host: '::ffff:0:169.254.169.254', is: false, reason: 'cloud metadata through SIIT' },
    { host: '64:ff9b::168.63.129.16', is: false, reason: 'metadata of Azure through NAT64' },
    { host: '64:ff9b::100.100.100.200', is: false, reason: 'metadata of Alibaba through NAT64' },
    { host: '64:ff9b::192.0.0.192', is: false, reason: 'metadata of Oracle through NAT64' },
    { host: '64:ff9b::127.0.0.1', is: false, reason: 'loopback through NAT64' },
    { host: '64:ff9b:1::169.254.169.254', is: false, reason: 'cloud metadata through a local NAT64 of /96' },
    { host: '64:ff9b:1:a9fe:a9:fe00::', is: false, reason: 'cloud metadata through a local NAT64 of /48' },
    { host: '64:ff9b:1:a9:fe:a9fe::', is: false, reason: 'cloud metadata through a local NAT64 of /56' },
    { host: '64:ff9b:1:0:a9:fea9:fe00:0', is: false, reason: 'cloud metadata through a local NAT64 of /64' },
    { host: '64:ff9b:1::10.1.2.3', is: true, reason: 'a private network through a local NAT64 of /96' },
    { host: '64:ff9b:1:a01:2:300::', is: true, reason: 'a private network through a local NAT64 of /48' },
    { host: '2002:a83f:8110::1', is: false, reason: 'metadata of Azure through 6to4' },
    { host: '2002:6464:64c8::', is: false, reason: 'metadata of Alibaba through 6to4' },
    { host: '2002:a01:203::1', is: true, reason: 'a private network through 6to4' },
    { host: '2001:0:a9fe:a9fe::1', is: false, reason: 'a Teredo server with the address of cloud metadata' },
    { host: '2001:0:cb00:7107:0:0:5601:5601', is: false, reason: 'cloud metadata as a Teredo client' },
    { host: '2001:db8::5efe:169.254.169.254', is: false, reason: 'cloud metadata through ISATAP' },
    { host: '2001:db8::200:5efe:10.1.2.3', is: true, reason: 'a private network through ISATAP' },
    { host: '0:0:0:0:0:FFFF:A9FE:A9FE', is: false, reason: 'cloud metadata, mapped and written out' },
    { host: 'fe80::1', is: false, reason: 'link-local' },
    { host: 'fe80::1%eth0', is: false, reason: 'link-local with a zone' },
    { host: '224.0.0.1', is: false, reason: 'multicast' },
    { host: '255.255.255.255', is: false, reason: 'broadcast' },
  ])('$host: $is ($reason)', ({ host, is }) => {
    expect(isAllowed([], host, 443)).toBe(is);
  });
});

describe('what the administrator lists', () => {
  test.each([
    { allowed: '127.0.0.1:8080', host: '127.0.0.1', port: 8080, is: true, reason: 'exactly' },
    { allowed: '127.0.0.1:8080', host: '127.0.0.1', port: 8081, is: false, reason: 'another port' },
    { allowed: '127.0.0.1:8080', host: '127.0.0.2', port: 8080, is: false, reason: 'another address' },
    { allowed: '127.0.0.1:8080', host: '::ffff:127.0.0.1', port: 8080, is: true, reason: 'the same, mapped' },
    { allowed: '[::1]:8080', host: '[::1]', port: 8080, is: true, reason: 'IPv6' },
    { allowed: '127.0.0.0/8:8080', host: '127.9.9.9', port: 8080, is: true, reason: 'a network and a port' },
    { allowed: '127.0.0.0/8:8080', host: '127.9.9.9', port: 80, is: false, reason: 'a network and another port' },
    { allowed: '127.0.0.0/8', host: '127.0.0.1', port: 1, is: true, reason: 'a network' },
    { allowed: 'fe80::/10', host: 'fe80::1', port: 1, is: true, reason: 'a network of IPv6' },
    { allowed: '[fe80::/10]:443', host: 'fe80::1', port: 1, is: false, reason: 'a network of IPv6 and another port' },
    { allowed: 'localhost:80', host: '127.0.0.1', port: 80, is: false, reason: 'a name is not its address' },
  ])('$allowed, $host $port: $is ($reason)', ({ allowed, host, port, is }) => {
    expect(isAllowed([allowed], host, port)).toBe(is);
  });

  test.each([
    '',
    '127.0.0.1',
    'localhost',
    '127.0.0.1:0',
    '127.0.0.1:65536',
    '10.0.0.0/33',
    'fd00::/129',
    'example.com/8',
    '/8',
    ':80',
    '127.1:80',
    'file:///etc/passwd',
    'unix:/run/x.sock',
  ])('"%s" is not an address', (text) => {
    expect(() => addressGuard([text])).toThrow(RangeError);
  });
});

test('a name is allowed for its port only, whatever it resolves to', async () => {
  const guard = addressGuard(['localhost:8080']);
  await expect(guard.check('localhost', 8080)).resolves.toBeUndefined();
  await expect(guard.check('LOCALHOST', 8080)).resolves.toBeUndefined();
  await expect(guard.check('localhost', 8081)).rejects.toThrow('--allow-address localhost:8081');
});

test('an address can be listed later', async () => {
  const guard = addressGuard();
  await expect(guard.check('127.0.0.1', 8080)).rejects.toThrow('is refused');
  guard.allow('127.0.0.1:8080');
  await expect(guard.check('127.0.0.1', 8080)).resolves.toBeUndefined();
});
