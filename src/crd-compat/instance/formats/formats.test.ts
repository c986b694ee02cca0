/** The table contains the answers of a real API server: test/crd-compat/instance.test.ts sends it the same strings. */
import { expect, test } from 'vitest';
import { stringFormat } from './index.ts';

test.each([
  { format: 'ipv4', text: '192.0.2.01', valid: true, reason: 'leading zeros were once allowed' },
  { format: 'ipv4', text: '192.0.2.256', valid: false, reason: 'a byte ends at 255' },
  { format: 'ipv4', text: '::ffff:1.2.3.4', valid: true, reason: 'an address in which there is a dot' },
  { format: 'ipv4', text: '::1', valid: false, reason: 'no dot' },
  { format: 'ipv6', text: '2001:db8::1', valid: true, reason: 'two colons stand for zeros' },
  { format: 'ipv6', text: 'fe80::1%eth0', valid: false, reason: 'no zones' },
  { format: 'ipv6', text: '1::2::3', valid: false, reason: 'two colons only once' },
  { format: 'cidr', text: '10.0.0.0/08', valid: true, reason: 'leading zeros here, too' },
  { format: 'cidr', text: '::1/129', valid: false, reason: '128 bits' },
  { format: 'mac', text: '0000.5e00.5301', valid: true, reason: 'in fours' },
  { format: 'mac', text: '00-00-5e:00-53-01', valid: false, reason: 'one separator' },
  { format: 'uri', text: '/path', valid: true, reason: 'an absolute path' },
  { format: 'uri', text: 'path', valid: false, reason: 'neither absolute nor with a scheme' },
  { format: 'uri', text: 'http://a/%zz', valid: false, reason: 'no escape' },
  { format: 'email', text: 'Ann <ann@example.com>', valid: true, reason: 'a name may stand before it' },
  { format: 'email', text: '"a b"@c', valid: true, reason: 'quoted' },
  { format: 'email', text: 'a.@b', valid: false, reason: 'a dot at the end' },
  { format: 'email', text: 'a@[127.0.0.1]', valid: true, reason: 'an address instead of a name' },
  { format: 'email', text: 'g: a@b;', valid: true, reason: 'a group of one' },
  { format: 'email', text: 'g: a@b, c@d;', valid: false, reason: 'a group of two' },
  { format: 'email', text: 'a@b (note)', valid: true, reason: 'a comment' },
  { format: 'email', text: 'a@b (note', valid: false, reason: 'that does not end' },
  { format: 'email', text: 'a@b c', valid: false, reason: 'something follows' },
  { format: 'hostname', text: 'ex_ample.com', valid: false, reason: 'no underscores' },
  { format: 'hostname', text: 'a'.repeat(64), valid: false, reason: 'labels end at 63' },
  { format: 'uuid', text: '123E4567E89B42D3A456426614174000', valid: true, reason: 'dashes and case do not count' },
  { format: 'uuid3', text: '123e4567-e89b-42d3-a456-426614174000', valid: false, reason: 'another version' },
  { format: 'isbn', text: '978-0321751041', valid: true, reason: 'thirteen digits' },
  { format: 'isbn10', text: '080442957X', valid: true, reason: 'X is ten' },
  { format: 'isbn13', text: '978-0321751042', valid: false, reason: 'the check digit' },
  { format: 'creditcard', text: '4111111111111112', valid: false, reason: 'the check digit' },
  { format: 'ssn', text: '123456789', valid: false, reason: 'eleven characters' },
  { format: 'byte', text: '', valid: false, reason: 'at least one group' },
  { format: 'byte', text: 'YQ==', valid: true, reason: 'base64' },
  { format: 'date', text: '2006-02-29', valid: false, reason: 'no leap year' },
  { format: 'date', text: '2004-02-29', valid: true, reason: 'a leap year' },
  { format: 'date-time', text: '2006-01-02t15:04:05z', valid: true, reason: 'case does not count' },
  { format: 'date-time', text: '2006-01-02T15:04:05', valid: false, reason: 'no zone' },
  {
    format: 'datetime',
    text: '2006-01-02T15:04:05Ztrailing',
    valid: true,
    reason: 'after a second t nothing is looked at',
  },
  { format: 'duration', text: '5 minutes', valid: true, reason: 'in words' },
  { format: 'duration', text: 'five', valid: false, reason: 'no number' },
  { format: 'rgbcolor', text: 'rgb( 1 , 2 , 256 )', valid: false, reason: 'a byte ends at 255' },
  { format: 'k8s-short-name', text: 'a.b', valid: false, reason: 'one label' },
  { format: 'k8s-long-name', text: 'a.b', valid: true, reason: 'labels with dots' },
  { format: 'password', text: '', valid: true, reason: 'anything' },
])('$format: $text: $reason', ({ format, text, valid }) => {
  expect(stringFormat(format)?.matches(text)).toBe(valid);
});

test('a format that the API server does not know restricts nothing', () => {
  expect(stringFormat('quantity')).toBeUndefined();
});
