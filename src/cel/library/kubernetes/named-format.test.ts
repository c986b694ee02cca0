import { describe, expect, it } from 'vitest';
import { CelError, Optional, type Value } from '../../values.ts';
import { caller, costOf } from '../support/overloads.ts';
import { type NamedFormat, namedFormats } from './named-format.ts';

const call = caller(namedFormats);
const format = (name: string): NamedFormat => call(`format.${name}`) as NamedFormat;
const problems = (name: string, text: string): Value =>
  (call('format-validate', format(name), text) as Optional).value ?? [];

describe('validate', () => {
  it.each([
    { name: 'dns1123Label', text: 'my-name-1', count: 0, reason: 'letters, digits and dashes' },
    { name: 'dns1123Label', text: 'My-name', count: 1, reason: 'a capital letter' },
    { name: 'dns1123Label', text: 'a.b', count: 1, reason: 'a dot' },
    { name: 'dns1123Label', text: 'a'.repeat(64), count: 1, reason: 'too long' },
    { name: 'dns1123Label', text: `${'a'.repeat(64)}-`, count: 2, reason: 'too long and a dash at the end' },
    { name: 'dns1123Label', text: '', count: 1, reason: 'nothing' },
    { name: 'dns1123LabelPrefix', text: 'my-', count: 0, reason: 'a prefix may end in a dash' },
    { name: 'dns1123LabelPrefix', text: 'é-', count: 1, reason: 'a letter beyond ASCII before the dash' },
    { name: 'dns1123LabelPrefix', text: '-', count: 1, reason: 'a dash alone' },
    { name: 'dns1123Subdomain', text: 'a.b-c.d', count: 0, reason: 'labels and dots' },
    { name: 'dns1123Subdomain', text: 'a..b', count: 1, reason: 'an empty label' },
    { name: 'dns1123Subdomain', text: 'a'.repeat(254), count: 1, reason: 'too long' },
    { name: 'dns1123SubdomainPrefix', text: 'a.b-', count: 0, reason: 'a prefix may end in a dash' },
    { name: 'dns1035Label', text: 'a1', count: 0, reason: 'a letter first' },
    { name: 'dns1035Label', text: '1a', count: 1, reason: 'a digit first' },
    { name: 'dns1035LabelPrefix', text: 'a-', count: 0, reason: 'a prefix may end in a dash' },
    { name: 'qualifiedName', text: 'example.com/My_name', count: 0, reason: 'a domain and a name' },
    { name: 'qualifiedName', text: '/n', count: 1, reason: 'an empty domain' },
    { name: 'qualifiedName', text: 'p/', count: 2, reason: 'an empty name is empty and breaks the rule' },
    { name: 'qualifiedName', text: 'a/b/c', count: 1, reason: 'two slashes' },
    { name: 'qualifiedName', text: 'A/b', count: 1, reason: 'a domain with a capital letter' },
    { name: 'labelValue', text: '', count: 0, reason: 'a label may be empty' },
    { name: 'labelValue', text: '-a', count: 1, reason: 'a dash first' },
    { name: 'uri', text: 'http://example.com', count: 0, reason: 'an absolute URL' },
    { name: 'uri', text: 'example.com', count: 1, reason: 'a relative one' },
    { name: 'uuid', text: '123E4567-e89b-12d3-a456-426614174000', count: 0, reason: 'either case' },
    { name: 'uuid', text: '123e4567e89b12d3a456426614174000', count: 0, reason: 'without dashes' },
    { name: 'uuid', text: '123e4567-e89b', count: 1, reason: 'too short' },
    { name: 'byte', text: 'aGVsbG8=', count: 0, reason: 'padded base64' },
    { name: 'byte', text: 'aGVsbG8', count: 1, reason: 'padding is missing' },
    { name: 'byte', text: '', count: 1, reason: 'nothing is not base64' },
    { name: 'date', text: '2020-02-29', count: 0, reason: 'a leap day' },
    { name: 'date', text: '2021-02-29', count: 1, reason: 'no leap day' },
    { name: 'date', text: '2021-1-1', count: 1, reason: 'too few digits' },
    { name: 'datetime', text: '2021-01-01T23:59:59.5+01:00', count: 0, reason: 'a fraction and a zone' },
    { name: 'datetime', text: '2021-01-01t00:00:00z', count: 0, reason: 'small letters' },
    { name: 'datetime', text: '2021-01-01T24:00:00Z', count: 1, reason: 'hour 24' },
    { name: 'datetime', text: '2021-01-01 00:00:00Z', count: 1, reason: 'a blank for the T' },
    { name: 'datetime', text: '2021-01-01T00:00:00ZTx', count: 0, reason: 'Kubernetes does not look past a second T' },
  ])('$name of $text finds $count: $reason', ({ name, text, count }) => {
    expect(problems(name, text)).toHaveLength(count);
  });

  it('returns the error texts of Kubernetes', () => {
    expect(problems('dns1123Label', 'A')).toEqual([
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ]);
    expect(problems('uri', 'a')).toEqual(['parse "a": invalid URI for request']);
    expect(problems('labelValue', 'a'.repeat(64))).toEqual(['must be no more than 63 bytes']);
  });
});

it('finds formats by name', () => {
  expect((call('format-named', 'uuid') as Optional).value).toBe(format('uuid'));
  expect(call('format-named', 'toString')).toBe(Optional.none);
});

it('compares formats by name, and with nothing else', () => {
  expect(format('uuid').equalsOrError(format('uuid'))).toBe(true);
  expect(format('uuid').equalsOrError(format('date'))).toBe(false);
  expect(format('uuid').equalsOrError('uuid')).toBeInstanceOf(CelError);
});

it.each([
  { name: 'dns1123Label', cost: 16, reason: 'two for the text, eight for a pattern of 30' },
  { name: 'uri', cost: 552, reason: 'a pattern of 1103' },
  { name: 'uuid', cost: 36, reason: 'a pattern of 70' },
  { name: 'datetime', cost: 36, reason: 'a pattern of 71' },
])('counts $cost for $name: $reason', ({ name, cost }) => {
  expect(costOf([namedFormats], 'format-validate', format(name), 'a'.repeat(12))).toBe(cost);
});
