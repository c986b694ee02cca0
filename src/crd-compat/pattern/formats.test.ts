import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validator } from '../instance/index.ts';
import { stringsOf } from './index.ts';

/** Valid strings of each format, from which invalid ones are derived; the validator decides which are valid. */
const written: Readonly<Record<string, readonly string[]>> = {
  uuid: ['123e4567-e89b-12d3-a456-426614174000', '123E4567E89B12D3A456426614174000'],
  uuid3: ['123e4567-e89b-32d3-a456-426614174000'],
  uuid4: ['123e4567-e89b-42d3-a456-426614174000', '123e4567-e89b-42d3-B456-426614174000'],
  uuid5: ['123e4567-e89b-52d3-8456-426614174000'],
  bsonobjectid: ['507f1f77bcf86cd799439011'],
  mac: ['01:23:45:67:89:ab', '01-23-45-67-89-ab-cd-ef', '0123.4567.89ab', '0123.4567.89ab.cdef'],
  ssn: ['111-11-1111', '111 11 1111', '111111111'],
  hexcolor: ['#FFFFFF', 'fff', '#12345'],
  rgbcolor: ['rgb(255,255,255)', 'rgb( 0, 19 ,256)'],
  byte: ['YWJj', 'YWI=', 'YQ==', ''],
  date: ['2024-02-29', '2023-02-29', '1900-02-29', '2000-02-29', '2024-04-31', '2024-12-31', '0000-01-01'],
  'date-time': [
    '2024-02-29T23:59:59Z',
    '2024-02-29t23:59:60z',
    '2024-01-01T00:00:00.5+25:99',
    '2024-01-01T00:00:00ZTx',
  ],
  'k8s-short-name': ['a-b', 'a', '-a', 'A', 'a'.repeat(63), 'a'.repeat(64)],
  'k8s-long-name': ['a.b-c', 'a..b', `${'a.'.repeat(126)}a`, `${'a.'.repeat(127)}a`],
  duration: ['1h30m', '22 ns', '5 days', '0', '+5s', '-1.5h', 'h'],
  email: ['a@b.c', 'Name <a@b.c>', '"a b"@c.d', 'a@', '@b'],
  uri: ['https://example.com/a?b=c#d', '/a/b', 'mailto:a', '*', 'a/b', '//x', 'http://a b'],
  ipv4: ['10.0.0.1', '010.0.0.1', '256.1.1.1', '::ffff:1.2.3.4'],
  ipv6: ['::1', 'fe80::1:2', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4', '1:2'],
  cidr: ['10.0.0.0/8', '10.0.0.0/33', '::/128', 'fe80::1/129'],
  isbn: ['0321751043', '978-0321751041', '0321751044'],
  isbn10: ['0321751043', '0-321-75104-3', '0321751044'],
  isbn13: ['978-0321751041', '9780321751041', '9780321751042'],
  creditcard: ['4111-1111-1111-1111', '4111111111111112', '378282246310005'],
  hostname: [
    'example.com',
    'a',
    '-a',
    'a-',
    'a..b',
    'a.b',
    'ü.example',
    'a'.repeat(63),
    `${'a'.repeat(64)}.com`,
    '☃.net',
  ],
  password: ['', 'x'],
  unheardof: ['', 'x'],
};

const CHARACTERS = [...'0123456789abcdefxzABFXZ-.:/@#+=, ()<>"TtZü☃\n'];

/** A string with one character inserted, removed or changed. */
const mistaken = (texts: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...texts), fc.nat(300), fc.constantFrom('', ...CHARACTERS), fc.nat(1), fc.boolean())
    .map(([text, position, put, taken, asItIs]) => {
      const at = position % (text.length + 1);
      return asItIs ? text : text.slice(0, at) + put + text.slice(at + taken);
    });

describe('formats', () => {
  it.each(Object.keys(written))('%s: what is claimed of a string is what the validator says', (format) => {
    const set = stringsOf({ format });
    const check = validator({ type: 'string', format }, { resource: false });
    const isValid = (text: string): boolean => check.validate(text).length === 0;
    for (const example of set.examples(8))
      expect({ example, isValid: isValid(example) }).toEqual({ example, isValid: true });
    fc.assert(
      fc.property(mistaken(written[format] ?? []), (text) => {
        const claimed = set.has(text);
        if (claimed !== undefined) expect({ text, isValid: isValid(text) }).toEqual({ text, isValid: claimed });
      }),
      { numRuns: 100 },
    );
  });
});
