import { describe, expect, test } from 'vitest';
import { environment } from '../environments.ts';
import { format } from '../format.ts';
import { Double, Uint } from '../values.ts';
import { parse } from './parser.ts';

const { macros } = environment('extended');
const read = (source: string, options: object = {}) => parse(source, { macros, escapedFields: true, ...options });

describe('literals', () => {
  test.each([
    { reason: 'ints', source: '12', value: 12 },
    { reason: 'a sign belongs to the literal', source: '-12', value: -12 },
    { reason: 'hexadecimal', source: '0xFF', value: 255 },
    { reason: 'the smallest int', source: '-9223372036854775808', value: -9223372036854775808n },
    { reason: 'unsigned', source: '18446744073709551615u', value: new Uint(18446744073709551615n) },
    { reason: 'a double that is whole', source: '1.0', value: new Double(1) },
    { reason: 'exponents', source: '1.5e-3', value: 0.0015 },
    { reason: 'no digit before the point', source: '.5', value: 0.5 },
    {
      reason: 'escapes',
      source: String.raw`'\a\b\f\n\r\t\v\\\'\"\?\x41\u00e9\U0001F600\101'`,
      value: '\x07\b\f\n\r\t\v\\\'"?Aé😀A',
    },
    { reason: 'raw strings', source: String.raw`r'\n'`, value: '\\n' },
    { reason: 'triple quotes keep quotes and lines', source: `'''a'b\n"c'''`, value: 'a\'b\n"c' },
    { reason: 'line ends become one', source: "'''a\r\nb'''", value: 'a\nb' },
    { reason: 'bytes of text', source: "b'é'", value: new Uint8Array([0xc3, 0xa9]) },
    { reason: 'bytes of escapes', source: String.raw`b'\xff\101'`, value: new Uint8Array([0xff, 0x41]) },
    { reason: 'raw bytes', source: String.raw`br'\x'`, value: new Uint8Array([0x5c, 0x78]) },
    { reason: 'comments are blank', source: '1 // one\n', value: 1 },
  ])('$reason: $source', ({ source, value }) => {
    expect(read(source).ast).toMatchObject({ kind: 'literal', value });
  });
});

describe('grammar', () => {
  test.each([
    { reason: 'products bind tighter than sums', source: '1 + 2 * 3 - 4', same: '(1 + (2 * 3)) - 4' },
    { reason: 'relations are left to right', source: 'a < b == c', same: '(a < b) == c' },
    { reason: 'and binds tighter than or', source: 'a || b && c', same: 'a || (b && c)' },
    { reason: 'the conditional is right to left', source: 'a ? b : c ? d : e', same: 'a ? b : (c ? d : e)' },
    { reason: 'two signs cancel out', source: '--a', same: 'a' },
    { reason: 'negations cancel out too', source: '!!!a', same: '!a' },
    { reason: 'members follow literals', source: '-1.f()', same: '(-1).f()' },
    { reason: 'fields may be reserved words', source: 'a.namespace', same: 'a.namespace' },
    { reason: 'a trailing comma', source: '[1, 2,]', same: '[1, 2]' },
  ])('$reason: $source', ({ source, same }) => {
    const [left, right] = [read(source).ast, read(same).ast];
    expect(left && format(left)).toBe(right && format(right));
    expect(left).toBeDefined();
  });

  test.each([
    { reason: 'an open quote', source: "'abc", column: 1 },
    { reason: 'a reserved word', source: 'namespace', column: 1 },
    { reason: 'an int past int64', source: '9223372036854775808', column: 1 },
    { reason: 'nothing after an operator', source: '1 + ', column: 5 },
    { reason: 'a brace that does not fit', source: 'f(]', column: 3 },
    { reason: 'a lone surrogate in an escape', source: String.raw`'\ud800'`, column: 1 },
    { reason: 'a macro without a name', source: '[1].all(1, true)', column: 9 },
    { reason: 'has of what is no selection', source: 'has(a)', column: 5 },
    { reason: 'a loop variable twice', source: '[1].all(x, x, true)', column: 12 },
    { reason: 'bytes with a code point', source: String.raw`b'\u00e9'`, column: 1 },
    { reason: 'a keyword as a field', source: 'a.in', column: 3 },
  ])('refuses $reason: $source', ({ source, column }) => {
    const { ast, issues } = read(source);
    expect(ast).toBeUndefined();
    expect(issues[0]).toMatchObject({ line: 1, column });
  });

  test('finds several errors in one run', () => {
    expect(read('f(1 +, 2) + [3 4] + {1 2}').issues.length).toBeGreaterThanOrEqual(3);
  });

  test('backticks are disabled in kubernetes-1.36 and enabled in extended', () => {
    expect(read('a.`b-c`').ast).toMatchObject({ kind: 'select', field: 'b-c' });
    expect(read('a.`b-c`', { escapedFields: false }).issues[0]?.code).toBe('unsupported');
  });

  test.each([
    { reason: 'it would be formatted as a - b{}', source: 'a.`x-b`{c: 1}' },
    { reason: 'anywhere in the name', source: 'a.`x`.b{}' },
    { reason: 'a keyword', source: 'a.`in`{}' },
  ])('an escaped name is no part of the name of a type: $reason', ({ source }) => {
    expect(read(source).issues[0]).toMatchObject({ code: 'syntax' });
  });
});

describe('limits', () => {
  test.each([
    { reason: 'parentheses', source: `${'('.repeat(300)}1${')'.repeat(300)}` },
    { reason: 'lists', source: `${'['.repeat(300)}1${']'.repeat(300)}` },
    { reason: 'chains of operators', source: `1${'+1'.repeat(300)}` },
    { reason: 'chains of fields', source: `a${'.b'.repeat(300)}` },
    { reason: 'conditionals', source: `${'a ? b : '.repeat(300)}c` },
    { reason: 'a hundred thousand brackets', source: '['.repeat(90_000) },
  ])('too deep: $reason', ({ source }) => {
    expect(read(source).issues.at(-1)?.code).toBe('too_deep');
  });

  test('long chains of && stay shallow', () => {
    expect(read(Array.from({ length: 5000 }, (_, index) => `a${index}`).join(' && ')).issues).toEqual([]);
  });

  test('more errors than the limit before the first token', () => {
    const { ast, issues } = read('#'.repeat(300));
    expect(ast).toBeUndefined();
    expect(issues.length).toBeGreaterThan(1);
    expect(issues.length).toBeLessThan(300);
  });

  test('the size of an expression is limited', () => {
    expect(read(`'${'x'.repeat(100_000)}'`).issues[0]?.code).toBe('too_large');
  });
});
