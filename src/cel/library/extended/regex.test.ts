import { describe, expect, it } from 'vitest';
import type { Optional } from '../../values.ts';
import { caller, costOf } from '../support/overloads.ts';
import { regex } from './regex.ts';

const call = caller(regex);

describe('extract', () => {
  it.each([
    { text: 'hello world', pattern: 'hello(.*)', first: ' world', all: [' world'], reason: 'the group' },
    {
      text: 'id:1, id:2',
      pattern: 'id:\\d',
      first: 'id:1',
      all: ['id:1', 'id:2'],
      reason: 'the whole without a group',
    },
    { text: 'HELLO', pattern: 'hello', first: undefined, all: [], reason: 'no match' },
    { text: 'ab', pattern: '(x)?', first: undefined, all: [], reason: 'a group that took no part' },
  ])('$reason', ({ text, pattern, first, all }) => {
    expect((call('regex_extract_string_string', text, pattern) as Optional).value).toBe(first);
    expect(call('regex_extractAll_string_string', text, pattern)).toEqual(all);
  });

  it.each([
    { pattern: '(.*)@([^.]*)', reason: 'two groups' },
    { pattern: '(', reason: 'no pattern' },
  ])('refuses $reason', ({ pattern }) => {
    expect(call('regex_extract_string_string', 'a@b', pattern)).toMatchObject({ code: 'invalid_argument' });
    expect(call('regex_extractAll_string_string', 'a@b', pattern)).toMatchObject({ code: 'invalid_argument' });
  });
});

describe('replace', () => {
  it.each([
    { text: 'hello world hello', pattern: 'hello', by: 'hi', limit: -1, is: 'hi world hi', reason: 'all' },
    { text: 'banana', pattern: 'a', by: 'x', limit: 2, is: 'bxnxna', reason: 'the first two' },
    { text: 'banana', pattern: 'a', by: 'x', limit: 0, is: 'banana', reason: 'none' },
    { text: 'foo bar', pattern: '(fo)o (ba)r', by: '\\2 \\1', limit: -1, is: 'ba fo', reason: 'groups' },
    {
      text: 'ab',
      pattern: 'b',
      by: '[\\0]$&\\\\',
      limit: -1,
      is: 'a[b]$&\\',
      reason: 'the whole, and nothing but a backslash is special',
    },
    { text: 'a😀', pattern: '', by: '-', limit: -1, is: '-a-😀-', reason: 'nothing is around every character' },
  ])('$reason', ({ text, pattern, by, limit, is }) => {
    expect(call('regex_replace_string_string_string_int', text, pattern, by, limit)).toBe(is);
    if (limit === -1) expect(call('regex_replace_string_string_string', text, pattern, by)).toBe(is);
  });

  it.each([
    { by: '\\2', reason: 'a group that is not there' },
    { by: '\\x', reason: 'a backslash before a letter' },
    { by: '\\', reason: 'a backslash at the end' },
  ])('refuses $reason', ({ by }) => {
    expect(call('regex_replace_string_string_string', 'test', '(.)', by)).toMatchObject({ code: 'invalid_argument' });
  });

  it('rejects an invalid pattern', () => {
    expect(call('regex_replace_string_string_string', 'a', '(', '')).toMatchObject({ code: 'invalid_argument' });
  });
});

it('charges the search and the size of the result', () => {
  expect(costOf([regex], 'regex_extract_string_string', 'a'.repeat(19), 'aaa')).toBe(1 + 2 + 1);
  expect(costOf([regex], 'regex_extractAll_string_string', 'a'.repeat(19), 'aaa')).toBe(1 + 2 + 6 + 10);
  expect(costOf([regex], 'regex_replace_string_string_string', 'a'.repeat(19), 'aaa', 'b')).toBe(1 + 2 + 7);
});
