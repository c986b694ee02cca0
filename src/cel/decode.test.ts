import { describe, expect, test } from 'vitest';
import { DecodeError, decodeJson } from './decode.ts';
import { Double } from './values.ts';

describe('decodeJson', () => {
  test.each([
    { reason: 'ints are numbers', text: '[1, -2, 0]', value: [1, -2, 0] },
    { reason: 'int64 is exact', text: '{"a": 9223372036854775807}', value: { a: 9223372036854775807n } },
    { reason: 'past int64 is a double', text: '12345678901234567890', value: 12345678901234567000 },
    { reason: '1.0 stays a double', text: '[1.0, 1]', value: [new Double(1), 1] },
    { reason: 'an exponent makes a double', text: '[1e3]', value: [new Double(1000)] },
    { reason: 'fractions', text: '[1.5, 0.25]', value: [1.5, 0.25] },
    { reason: 'fifteen digits and a fraction that rounds', text: '[999999999999999.99]', value: [new Double(1e15)] },
    { reason: 'versions in strings are strings', text: '["1.0", "v1.20.0,"]', value: ['1.0', 'v1.20.0,'] },
    { reason: 'escapes', text: '"\\u00e9\\n\\ud83d\\ude00"', value: 'é\n😀' },
    { reason: 'a zero with a sign is zero', text: '[-0, 1.0]', value: [0, new Double(1)] },
  ])('$reason: $text', ({ text, value }) => {
    expect(decodeJson(text)).toEqual(value);
  });

  test('__proto__ is an ordinary key', () => {
    const value = decodeJson('{"__proto__": {"x": 1}, "a": 1}') as Record<string, unknown>;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__', 'a']);
  });

  test.each([
    { reason: 'nothing', text: '', offset: 0 },
    { reason: 'an open list', text: '[1, 2', offset: 5 },
    { reason: 'a missing colon', text: '{"a" 1}', offset: 5 },
    { reason: 'text after the value', text: '1 2', offset: 2 },
    { reason: 'an open string', text: '["a]', offset: 1 },
    { reason: 'a number with a leading zero', text: '[01]', offset: 2 },
    { reason: 'a number too large for a double', text: '[1e999]', offset: 6 },
    { reason: 'a control character in a string', text: '"a\nb"', offset: 0 },
  ])('refuses $reason, and says where: $text', ({ text, offset }) => {
    const decode = () => decodeJson(text);
    expect(decode).toThrow(DecodeError);
    expect(decode).toThrow(expect.objectContaining({ code: 'invalid_json', offset }));
  });

  test.each([
    { reason: 'lists', text: '['.repeat(2000) + ']'.repeat(2000) },
    { reason: 'a hundred thousand', text: '{"a":'.repeat(100_000) },
  ])('nesting is bounded: $reason', ({ text }) => {
    expect(() => decodeJson(text)).toThrow(/deeper/);
  });

  test('brackets in strings and siblings are not nesting', () => {
    const text = JSON.stringify(Array.from({ length: 3000 }, () => ['[[[[{{{{']));
    expect(decodeJson(text)).toEqual(JSON.parse(text));
  });
});
