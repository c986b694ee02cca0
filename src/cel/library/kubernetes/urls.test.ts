import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CelError, type Value } from '../../values.ts';
import { caller, costOf } from '../support/overloads.ts';
import { type UrlValue, urls } from './urls.ts';

const call = caller(urls);
const url = (text: string): UrlValue => call('string_to_url', text) as UrlValue;
const parts = (text: string): readonly (Value | CelError)[] =>
  ['scheme', 'host', 'hostname', 'port', 'escaped_path'].map((part) => call(`url_get_${part}`, url(text)));

describe('the parts of a URL', () => {
  it.each([
    {
      text: 'https://user:pass@example.com:80/path?query=val#fragment',
      is: ['https', 'example.com:80', 'example.com', '80', '/path'],
      reason: 'everything there is',
    },
    { text: '/absolute-path', is: ['', '', '', '', '/absolute-path'], reason: 'a path alone' },
    { text: 'https://[::1]:80/', is: ['https', '[::1]:80', '::1', '80', '/'], reason: 'an IPv6 host' },
    {
      text: 'https://[fe80::1%25en0]/',
      is: ['https', '[fe80::1%en0]', 'fe80::1%en0', '', '/'],
      reason: 'a zone, escaped',
    },
    { text: 'https://example.com', is: ['https', 'example.com', 'example.com', '', ''], reason: 'no path' },
    {
      text: 'https://example.com/with spaces/',
      is: ['https', 'example.com', 'example.com', '', '/with%20spaces/'],
      reason: 'blanks are escaped',
    },
    {
      text: 'https://example.com/a%2fb',
      is: ['https', 'example.com', 'example.com', '', '/a%2fb'],
      reason: 'an escape stays as it was written',
    },
    {
      text: 'HTTP://EXAMPLE.com/é',
      is: ['http', 'EXAMPLE.com', 'EXAMPLE.com', '', '/%C3%A9'],
      reason: 'the scheme becomes small, UTF-8 is escaped',
    },
    { text: 'mailto:a@b', is: ['mailto', '', '', '', ''], reason: 'opaque' },
    { text: 'ftp://a:b:1/x', is: ['ftp', 'a:b:1', 'a:b', '1', '/x'], reason: 'more colons outside of http' },
    { text: '*', is: ['', '', '', '', '*'], reason: 'the star of OPTIONS' },
  ])('$text: $reason', ({ text, is }) => {
    expect(call('is_url_string', text)).toBe(true);
    expect(parts(text)).toEqual(is);
  });

  it.each([
    { text: '../relative-path', reason: 'relative' },
    { text: '', reason: 'nothing' },
    { text: 'https://a:b:c/', reason: 'a port that is no number' },
    { text: 'https://a:1:2/', reason: 'two colons after http' },
    { text: ':foo', reason: 'no scheme before the colon' },
    { text: 'http://[::1', reason: 'a bracket that is not closed' },
    { text: 'http://[1.2.3.4]/', reason: 'IPv4 in brackets' },
    { text: 'http://a b/', reason: 'a blank in the host' },
    { text: 'http://h/%zz', reason: 'an escape that is none' },
    { text: 'http://%41/', reason: 'an ASCII letter escaped in the host' },
    { text: 'http://u^@h/', reason: 'a user with a forbidden character' },
    { text: 'http://h/\n', reason: 'a control character' },
  ])('refuses $text: $reason', ({ text }) => {
    expect(call('is_url_string', text)).toBe(false);
    expect(call('string_to_url', text)).toBeInstanceOf(CelError);
  });
});

describe('getQuery', () => {
  it.each([
    { query: 'k1=a&k2=b&k2=c', is: { k1: ['a'], k2: ['b', 'c'] }, reason: 'a key twice' },
    { query: 'key with spaces=a+b%21', is: { 'key with spaces': ['a b!'] }, reason: 'plus and escapes' },
    { query: '', is: {}, reason: 'a question mark and nothing' },
    { query: 'a&=b&&c=', is: { a: [''], '': ['b'], c: [''] }, reason: 'missing keys and values' },
    { query: 'a;b=1&%zz=2&c=3', is: { c: ['3'] }, reason: 'what cannot be read is left out' },
    { query: 'a&'.repeat(10_000), is: {}, reason: 'more parameters than Go takes' },
  ])('of $reason', ({ query, is }) => {
    expect(call('url_get_query', url(`https://example.com/?${query}`))).toEqual(is);
  });

  it('has own keys only, whatever their names', () => {
    const query = call('url_get_query', url('/?__proto__=1&constructor=2')) as Record<string, Value>;
    expect(Object.getOwnPropertyNames(query)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(query)).toBe(Object.prototype);
  });
});

describe('equality', () => {
  it.each([
    { left: 'HTTP://h/', right: 'http://h/', equal: true, reason: 'the case of the scheme' },
    { left: 'http://h', right: 'http://h/', equal: false, reason: 'a slash is a path' },
    { left: 'http://h/é', right: 'http://h/%C3%A9', equal: true, reason: 'the same path, escaped or not' },
    { left: 'http://u:p@h/', right: 'http://u@h/', equal: false, reason: 'a password' },
    { left: '/a#x', right: '/a', equal: false, reason: 'a fragment' },
    { left: '/a?', right: '/a', equal: false, reason: 'a question mark' },
  ])('$equal for $reason', ({ left, right, equal }) => expect(url(left).equalsOrError(url(right))).toBe(equal));

  it('fails for other types', () => expect(url('/').equalsOrError('/')).toBeInstanceOf(CelError));
});

it('never throws, and isURL agrees with url', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', 'http://', '/', 'http://[', 'http://h/?'),
      (text, start) => {
        const value = call('string_to_url', start + text);
        if (value instanceof CelError) return;
        expect(call('is_url_string', start + text)).toBe(true);
        expect(String(value).length).toBeGreaterThan(0);
      },
    ),
  );
});

it('charges the text once', () => {
  expect(costOf([urls], 'string_to_url', 'https://example.com')).toBe(2);
  expect(costOf([urls], 'is_url_string', 'https://example.com')).toBe(1);
});
