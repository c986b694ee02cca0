import { isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CelError } from '../../values.ts';
import { parseIP } from '../net/parse.ts';
import { type CIDR, IP } from '../net/values.ts';
import { caller, costOf } from '../support/overloads.ts';
import { cidr, ip } from './network.ts';

const call = caller(ip, cidr);
const address = (text: string): IP => call('string_to_ip', text) as IP;
const network = (text: string): CIDR => call('string_to_cidr', text) as CIDR;

describe('ip', () => {
  it.each([
    { text: '127.0.0.1', written: '127.0.0.1', reason: 'IPv4' },
    { text: '2001:DB8::ABCD', written: '2001:db8::abcd', reason: 'hex digits become small' },
    { text: '1:0:0:2:0:0:0:3', written: '1:0:0:2::3', reason: 'the longest run of zeros is shortened' },
    { text: '1:0:0:2:0:0:3:4', written: '1::2:0:0:3:4', reason: 'of two as long the first' },
    { text: '0:1:2:3:4:5:6:7', written: '0:1:2:3:4:5:6:7', reason: 'one zero is no run' },
    { text: '::1.2.3.4', written: '::102:304', reason: 'an IPv4 end is hex again' },
    { text: '::', written: '::', reason: 'all zeros' },
  ])('$text: $reason', ({ text, written }) => {
    expect(call('ip_to_string', address(text))).toBe(written);
    expect(call('ip_is_canonical', text)).toBe(text === written);
  });

  it.each([
    { text: '127.0.0.256', reason: 'a field above 255' },
    { text: '01.2.3.4', reason: 'a leading zero' },
    { text: '1.2.3', reason: 'too short' },
    { text: '1.2.3.4.5', reason: 'too long' },
    { text: '1..2.3', reason: 'an empty field' },
    { text: ':::1', reason: 'three colons' },
    { text: '1::2::3', reason: 'two runs' },
    { text: '1:2:3:4:5:6:7', reason: 'too few groups' },
    { text: '1:2:3:4:5:6:7::8', reason: 'a run of nothing' },
    { text: '12345::', reason: 'five digits' },
    { text: '1:2:3:4:5:6:7:8:9', reason: 'too many groups' },
    { text: '::1.2.3.4:5', reason: 'something after the IPv4 end' },
    { text: 'fe80::1%eth0', reason: 'a zone' },
    { text: 'fe80::1%', reason: 'an empty zone' },
    { text: '::ffff:1.2.3.4', reason: 'an IPv4 address in IPv6' },
    { text: 'localhost', reason: 'no address at all' },
    { text: '', reason: 'nothing' },
  ])('refuses $text: $reason', ({ text }) => {
    expect(call('is_ip', text)).toBe(false);
    expect(call('string_to_ip', text)).toMatchObject({ code: 'invalid_argument' });
    expect(call('ip_is_canonical', text)).toBeInstanceOf(CelError);
  });

  it.each([
    { text: '0.0.0.0', family: 4, is: ['unspecified'], reason: 'the unspecified IPv4 address' },
    { text: '::', family: 6, is: ['unspecified'], reason: 'the unspecified IPv6 address' },
    { text: '127.1.2.3', family: 4, is: ['loopback'], reason: 'all of 127 is loopback' },
    { text: '::1', family: 6, is: ['loopback'], reason: 'the one IPv6 loopback address' },
    { text: '224.0.0.1', family: 4, is: ['link_local_multicast'], reason: 'the local control block' },
    { text: '224.0.1.1', family: 4, is: [], reason: 'multicast beyond the link' },
    { text: 'ff02::1', family: 6, is: ['link_local_multicast'], reason: 'link scope' },
    { text: '169.254.169.254', family: 4, is: ['link_local_unicast'], reason: 'link local' },
    { text: 'fe80::1', family: 6, is: ['link_local_unicast'], reason: 'link local' },
    { text: '10.0.0.1', family: 4, is: ['global_unicast'], reason: 'private counts as global' },
    { text: '255.255.255.255', family: 4, is: [], reason: 'broadcast' },
    { text: '2001:db8::1', family: 6, is: ['global_unicast'], reason: 'global' },
  ])('$text is $is: $reason', ({ text, family, is }) => {
    const value = address(text);
    expect(call('ip_family', value)).toBe(family);
    for (const kind of ['unspecified', 'loopback', 'link_local_multicast', 'link_local_unicast', 'global_unicast']) {
      expect([kind, call(`ip_is_${kind}`, value)]).toEqual([kind, is.includes(kind)]);
    }
  });

  it('accepts the same addresses as Node', () => {
    const text$ = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.stringMatching(/^[0-9a-f:.]{0,20}$/),
      fc.ipV6().map((text) => text.replace(':', '::')),
    );
    fc.assert(
      fc.property(text$, (text) => {
        const parsed = parseIP(text);
        if (/::ffff:|^0*:0*:0*:0*:0*:ffff:/i.test(text)) return;
        expect(parsed instanceof IP).toBe(isIPv4(text) || isIPv6(text));
      }),
      { numRuns: 500 },
    );
  });

  it('round-trips addresses', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const text = new IP(bytes).toString();
        const parsed = parseIP(text);
        if (!text.startsWith('::ffff:')) expect((parsed as IP).bytes).toEqual(bytes);
      }),
    );
  });
});

describe('cidr', () => {
  it.each([
    { text: '192.168.0.0/33', reason: 'longer than an address' },
    { text: '::1/129', reason: 'longer than an address' },
    { text: '10.0.0.0', reason: 'no prefix' },
    { text: '10.0.0.0/', reason: 'an empty prefix' },
    { text: '10.0.0.0/08', reason: 'a leading zero' },
    { text: '10.0.0.0/+8', reason: 'a sign' },
    { text: '::ffff:1.2.3.4/24', reason: 'an IPv4 address in IPv6' },
    { text: 'fe80::1%eth0/64', reason: 'a zone' },
  ])('refuses $text: $reason', ({ text }) => {
    expect(call('is_cidr', text)).toBe(false);
    expect(call('string_to_cidr', text)).toBeInstanceOf(CelError);
  });

  it('accepts an address inside the network, and masks it on demand', () => {
    const value = network('192.168.0.1/24');
    expect(String(call('cidr_ip', value))).toBe('192.168.0.1');
    expect(String(call('cidr_masked', value))).toBe('192.168.0.0/24');
    expect(call('cidr_prefix_length', value)).toBe(24);
    expect(value.equalsOrError(network('192.168.0.1/24').masked())).toBe(false);
  });

  it.each([
    { whole: '192.168.0.0/24', part: '192.168.0.1', contains: true, reason: 'inside' },
    { whole: '192.168.0.0/24', part: '192.168.1.1', contains: false, reason: 'outside' },
    { whole: '0.0.0.0/0', part: '::1', contains: false, reason: 'the other family' },
    { whole: '10.0.0.0/13', part: '10.7.255.255', contains: true, reason: 'the last of a prefix inside a byte' },
    { whole: '10.0.0.0/13', part: '10.8.0.0', contains: false, reason: 'the first after it' },
    { whole: '2001:db8::/32', part: '2001:db8:ffff::', contains: true, reason: 'IPv6' },
  ])('$whole and $part: $reason', ({ whole, part, contains }) => {
    expect(call('cidr_contains_ip_ip', network(whole), address(part))).toBe(contains);
    expect(call('cidr_contains_ip_string', network(whole), part)).toBe(contains);
  });

  it.each([
    { whole: '192.168.0.0/16', part: '192.168.10.0/24', contains: true, reason: 'a smaller one inside' },
    { whole: '192.168.0.0/24', part: '192.168.0.0/16', contains: false, reason: 'a larger one around it' },
    { whole: '10.0.0.0/8', part: '10.0.0.0/8', contains: true, reason: 'itself' },
    { whole: '192.168.1.0/24', part: '192.168.2.0/24', contains: false, reason: 'beside it' },
  ])('$whole and $part: $reason', ({ whole, part, contains }) => {
    expect(call('cidr_contains_cidr', network(whole), network(part))).toBe(contains);
    expect(call('cidr_contains_cidr_string', network(whole), part)).toBe(contains);
  });

  it('returns the error of an invalid string', () => {
    expect(call('cidr_contains_ip_string', network('::/0'), 'x')).toBeInstanceOf(CelError);
    expect(call('cidr_contains_cidr_string', network('::/0'), 'x')).toBeInstanceOf(CelError);
  });
});

describe('costs', () => {
  it.each([
    { id: 'string_to_ip', args: ['255.255.255.255'], cost: 2, reason: 'the text, a tenth of its length' },
    { id: 'ip_is_canonical', args: ['255.255.255.255'], cost: 3, reason: 'twice the text' },
    { id: 'cidr_contains_ip_ip', args: [network('::/128'), address('::1')], cost: 4, reason: '16 bytes twice' },
    {
      id: 'cidr_contains_ip_string',
      args: [network('10.0.0.0/8'), '10.0.0.1'],
      cost: 2,
      reason: 'one byte twice, and the text',
    },
    {
      id: 'cidr_contains_cidr',
      args: [network('10.0.0.0/8'), network('10.0.0.0/8')],
      cost: 3,
      reason: 'masked too, and one more',
    },
    { id: 'cidr_prefix_length', args: [network('10.0.0.0/8')], cost: 1, reason: 'a field' },
  ])('$id costs $cost: $reason', ({ id, args, cost }) => {
    expect(costOf([ip, cidr], id, ...args)).toBe(cost);
  });
});
