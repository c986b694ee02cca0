import { describe, expect, it } from 'vitest';
import type { Call } from '../../ast.ts';
import { caller, costOf } from '../support/overloads.ts';
import { regex } from './regex.ts';

const call = caller(regex);

it.each([
  { text: 'abc 123', pattern: '[0-9]+', all: ['123'], reason: 'one match' },
  {
    text: '123 abc 456',
    pattern: '[0-9]*',
    all: ['123', '', '', '', '', '456'],
    reason: 'empty matches between, none that touches',
  },
  { text: 'abc', pattern: 'xyz', all: [], reason: 'no match' },
  { text: 'a😀b', pattern: '', all: ['', '', '', ''], reason: 'nothing is around every character' },
  { text: 'a😀b', pattern: '.', all: ['a', '😀', 'b'], reason: 'a dot is a code point' },
  { text: 'aab', pattern: '(a)(b)', all: ['ab'], reason: 'groups make no difference' },
])('finds $reason', ({ text, pattern, all }) => {
  expect(call('string_find_all_string', text, pattern)).toEqual(all);
  expect(call('string_find_string', text, pattern)).toBe(all[0] ?? '');
  expect(call('string_find_all_string_int', text, pattern, 1)).toEqual(all.slice(0, 1));
  expect(call('string_find_all_string_int', text, pattern, 0)).toEqual([]);
  expect(call('string_find_all_string_int', text, pattern, -7)).toEqual(all);
});

it('rejects invalid patterns and syntax that RE2 does not support', () => {
  expect(call('string_find_string', 'a', '(')).toMatchObject({ code: 'invalid_argument' });
  expect(call('string_find_all_string', 'a', '(?=a)')).toMatchObject({ code: 'invalid_argument' });
});

it('takes time linear in the text', () => {
  expect(call('string_find_string', 'a'.repeat(20_000), '(a+)+$b')).toBe('');
});

describe('a literal pattern', () => {
  const place = { id: 0, offset: 0, start: 0, end: 0 };
  const find = (pattern: string): Call => ({
    ...place,
    kind: 'call',
    function: 'find',
    target: { ...place, kind: 'literal', value: 'a' },
    args: [{ ...place, kind: 'literal', value: pattern }],
  });
  it('is validated at compile time', () => {
    const problem = (pattern: string) =>
      regex.validators?.[0]?.validate(find(pattern), () => ({ kind: 'string', name: 'string', parameters: [] }));
    expect(problem('a+')).toBeUndefined();
    expect(problem('(')?.message).toContain('missing');
  });
});

it('charges text size times pattern size', () => {
  expect(costOf([regex], 'string_find_string', 'a'.repeat(20), 'a'.repeat(9))).toBe(3 * 3);
});
