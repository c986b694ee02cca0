import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { list, STRING } from '../../types.ts';
import { CelError, type Value } from '../../values.ts';
import { strings as newest } from '../extended/strings.ts';
import { caller, costOf, node, overloadOf } from '../support/overloads.ts';
import { strings } from './strings.ts';

const call = caller(strings);

describe('on values', () => {
  it.each([
    { id: 'string_char_at_int', args: ['tacocat', 3], is: 'o', reason: 'in the middle' },
    { id: 'string_char_at_int', args: ['a😀b', 1], is: '😀', reason: 'code points, not units' },
    { id: 'string_char_at_int', args: ['abc', 3], is: '', reason: 'just past the end' },
    { id: 'string_index_of_string', args: ['a😀b', 'b'], is: 2, reason: 'code points' },
    { id: 'string_index_of_string', args: ['abc', ''], is: 0, reason: 'nothing is at the start' },
    { id: 'string_index_of_string_int', args: ['abc', '', 9], is: 9, reason: 'or at the offset, wherever that is' },
    { id: 'string_index_of_string_int', args: ['abcabc', 'a', 1], is: 3, reason: 'from an offset' },
    { id: 'string_index_of_string_int', args: ['abc', 'a', 9], is: -1, reason: 'an offset past the end' },
    { id: 'string_last_index_of_string', args: ['abcabc', 'abc'], is: 3, reason: 'the last' },
    { id: 'string_last_index_of_string', args: ['abc', ''], is: 3, reason: 'nothing is at the end' },
    { id: 'string_last_index_of_string', args: ['a', 'aa'], is: -1, reason: 'longer than the text' },
    { id: 'string_last_index_of_string_int', args: ['abcabc', 'abc', 2], is: 0, reason: 'before an offset' },
    { id: 'string_lower_ascii', args: ['AÉİ'], is: 'aÉİ', reason: 'ASCII only' },
    { id: 'string_upper_ascii', args: ['aßé'], is: 'Aßé', reason: 'ASCII only' },
    { id: 'string_trim', args: ['\u0085\u00a0 a\ufeff\t'], is: 'a\ufeff', reason: "Go's white space" },
    { id: 'string_replace_string_string', args: ['aXbXc', 'X', '-'], is: 'a-b-c', reason: 'all' },
    {
      id: 'string_replace_string_string',
      args: ['a😀', '', '-'],
      is: '-a-😀-',
      reason: 'nothing is around every character',
    },
    { id: 'string_replace_string_string_int', args: ['abc', '', '-', 2], is: '-a-bc', reason: 'the first two places' },
    { id: 'string_replace_string_string_int', args: ['aXbXc', 'X', '-', 1], is: 'a-bXc', reason: 'the first' },
    { id: 'string_replace_string_string_int', args: ['aXb', 'X', '-', 0], is: 'aXb', reason: 'none' },
    {
      id: 'string_replace_string_string_int',
      args: ['aXb', 'X', '$&', -1],
      is: 'a$&b',
      reason: 'no patterns in the replacement',
    },
    { id: 'string_split_string', args: ['a,b', ','], is: ['a', 'b'], reason: 'at a comma' },
    { id: 'string_split_string', args: ['a😀', ''], is: ['a', '😀'], reason: 'between characters' },
    { id: 'string_split_string', args: ['', ''], is: [], reason: 'nothing has no characters' },
    { id: 'string_split_string', args: ['', ','], is: [''], reason: 'but is one part' },
    { id: 'string_split_string_int', args: ['a,b,c', ',', 2], is: ['a', 'b,c'], reason: 'two parts' },
    { id: 'string_split_string_int', args: ['a,b', ',', 0], is: [], reason: 'no parts' },
    { id: 'string_substring_int', args: ['a😀b', 1], is: '😀b', reason: 'code points' },
    { id: 'string_substring_int_int', args: ['a😀b', 1, 2], is: '😀', reason: 'code points' },
    { id: 'list_join', args: [['a', 'b']], is: 'ab', reason: 'with nothing between' },
    { id: 'list_join_string', args: [['a', 'b'], ', '], is: 'a, b', reason: 'with a separator' },
    {
      id: 'strings_quote',
      args: ['a"\\\n\u0007é\u0001'],
      is: '"a\\"\\\\\\n\\aé\u0001"',
      reason: "CEL's escapes and no others",
    },
    { id: 'strings_quote', args: ['\ud800'], is: '"\ufffd"', reason: 'a lone surrogate is replaced' },
  ])('$id of $args: $reason', ({ id, args, is }) => expect(call(id, ...(args as Value[]))).toEqual(is));

  it.each([
    { id: 'string_char_at_int', args: ['abc', 4], code: 'index_out_of_bounds', reason: 'past the end' },
    { id: 'string_char_at_int', args: ['abc', -1], code: 'index_out_of_bounds', reason: 'before the start' },
    {
      id: 'string_index_of_string_int',
      args: ['abc', 'a', -1],
      code: 'index_out_of_bounds',
      reason: 'a negative offset',
    },
    {
      id: 'string_last_index_of_string_int',
      args: ['abc', 'a', -1],
      code: 'index_out_of_bounds',
      reason: 'a negative offset',
    },
    {
      id: 'string_substring_int',
      args: ['abc', 9223372036854775807n],
      code: 'index_out_of_bounds',
      reason: 'far past the end',
    },
    { id: 'string_substring_int_int', args: ['abc', 2, 1], code: 'invalid_argument', reason: 'backwards' },
    { id: 'string_substring_int_int', args: ['abc', -1, 1], code: 'index_out_of_bounds', reason: 'before the start' },
    { id: 'string_substring_int_int', args: ['abc', 1, 4], code: 'index_out_of_bounds', reason: 'past the end' },
    { id: 'list_join', args: [['a', 1]], code: 'invalid_argument', reason: 'a number among strings' },
    {
      id: 'string_replace_string_string',
      args: ['a'.repeat(20_000), '', 'b'.repeat(20_000)],
      code: 'invalid_argument',
      reason: 'longer than a string can be',
    },
  ])('$id refuses $reason', ({ id, args, code }) => {
    expect(call(id, ...(args as Value[]))).toMatchObject({ code });
  });

  it('has no reverse, which Kubernetes does not enable', () => {
    expect(() => overloadOf([strings], 'string_reverse')).toThrow();
    expect(caller(newest)('string_reverse', 'a😀b')).toBe('b😀a');
  });

  it('split reverts join', () => {
    const text$ = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.array(text$, { minLength: 1 }), fc.string({ minLength: 1 }), (parts, separator) => {
        fc.pre(parts.every((part) => !`${part}${separator}`.slice(0, -1).includes(separator)));
        const joined = call('list_join_string', parts, separator);
        expect(call('string_split_string', joined as string, separator)).toEqual(parts);
      }),
    );
  });

  it('finds the same positions as JavaScript, in code points', () => {
    const text$ = fc.string({ unit: fc.constantFrom('a', 'b', '😀', 'é') });
    fc.assert(
      fc.property(text$, text$, fc.nat(5), (text, part, offset) => {
        fc.pre(part !== '');
        const points = [...text];
        const at = points.findIndex((_, index) => index >= offset && points.slice(index).join('').startsWith(part));
        expect(call('string_index_of_string_int', text, part, offset)).toBe(at);
      }),
    );
  });
});

describe('changes in newer versions', () => {
  const latest = caller(newest);
  it.each([
    { id: 'string_index_of_string_int', args: ['abc', '', 9], is: 3, reason: 'nothing is found within the text' },
    { id: 'string_last_index_of_string_int', args: ['abc', '', 9], is: 3, reason: 'the same from the end' },
  ])('$reason', ({ id, args, is }) => expect(latest(id, ...(args as Value[]))).toBe(is));

  it('a negative offset is an error even for an empty string', () => {
    expect(latest('string_index_of_string_int', 'abc', '', -1)).toBeInstanceOf(CelError);
  });
});

describe('costs', () => {
  const long = 'a'.repeat(25);
  it.each([
    { id: 'string_char_at_int', args: [long, 0], cost: 1, reason: 'not counted by size' },
    { id: 'string_index_of_string', args: [long, 'a'], cost: 2, reason: 'rounded down, and in bytes' },
    { id: 'string_index_of_string', args: ['é'.repeat(25), 'a'], cost: 5, reason: 'rounded down, and in bytes' },
    { id: 'string_lower_ascii', args: [long], cost: 3, reason: 'rounded up' },
    { id: 'string_replace_string_string', args: [long, 'a', 'b'], cost: 5, reason: 'reading and writing' },
    { id: 'string_split_string', args: ['', ','], cost: 0, reason: 'nothing to read' },
    { id: 'list_join', args: [[long, 'b']], cost: 6, reason: 'what comes out, twice' },
    { id: 'strings_quote', args: [long], cost: 3, reason: 'rounded up' },
    {
      id: 'string_format',
      args: ['%s'.repeat(6), ['a', 'b', 'c', 'd', 'e', 'f']],
      cost: 2,
      reason: 'the template only',
    },
  ])('$id costs $cost: $reason', ({ id, args, cost }) => {
    expect(costOf([strings], id, ...(args as Value[]))).toBe(cost);
  });

  const sized = (min: number, max: number) => node({ min, max }, { type: STRING });
  it.each([
    {
      id: 'string_trim',
      target: sized(0, 25),
      args: [],
      is: { cost: { min: 0, max: 3 }, resultSize: { min: 0, max: 25 } },
      reason: 'no longer than before',
    },
    {
      id: 'string_split_string_int',
      target: sized(0, 25),
      args: [sized(1, 1), node({ min: 1, max: 1 }, { literal: 3 })],
      is: { cost: { min: 0, max: 5 }, resultSize: { min: 0, max: 3 } },
      reason: 'at most three parts',
    },
    {
      id: 'string_replace_string_string',
      target: sized(2, 10),
      args: [sized(0, 0), sized(3, 3)],
      is: { cost: { min: 1, max: 2 }, resultSize: { min: 11, max: 43 } },
      reason: 'around every character',
    },
    {
      id: 'string_replace_string_string',
      target: sized(2, 10),
      args: [sized(2, 2), sized(4, 4)],
      is: { cost: { min: 1, max: 2 }, resultSize: { min: 2, max: 20 } },
      reason: 'twice as long at most',
    },
    {
      id: 'string_replace_string_string',
      target: sized(2, 10),
      args: [sized(4, 4), sized(2, 2)],
      is: { cost: { min: 1, max: 2 }, resultSize: { min: 2, max: 10 } },
      reason: 'half as long at least',
    },
    {
      id: 'list_join_string',
      target: node({ min: 1, max: 3 }, { type: list(STRING), element: sized(0, 10) }),
      args: [sized(2, 2)],
      is: { cost: { min: 0, max: 4 }, resultSize: { min: 0, max: 34 } },
      reason: 'elements and separators',
    },
    {
      id: 'strings_quote',
      target: undefined,
      args: [sized(3, 10)],
      is: { cost: { min: 1, max: 1 }, resultSize: { min: 5, max: 22 } },
      reason: 'escapes and quotes',
    },
  ])('estimates $id: $reason', ({ id, target, args, is }) => {
    expect(overloadOf([strings], id).estimate?.(target, args)).toEqual(is);
  });
});
