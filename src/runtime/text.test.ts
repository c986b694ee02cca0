import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { escapeUnsafe, plainLine, plainText, plainValues } from './text.ts';

const hostile = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

test.each([
  {
    reason: 'nothing to do',
    text: 'Ada Lovelace <ada@company.com> ✓ 你好',
    line: 'Ada Lovelace <ada@company.com> ✓ 你好',
  },
  { reason: 'a forged line', text: 'eve\nroot approved', line: 'eve root approved', lines: 'eve\nroot approved' },
  { reason: 'a carriage return that overwrites', text: 'denied\rallowed', line: 'denied allowed' },
  { reason: 'a terminal command', text: 'a\u001b[2Jb', line: 'a [2Jb' },
  { reason: 'an eight-bit terminal command', text: 'a\u009b2Jb', line: 'a 2Jb' },
  { reason: 'reversed text', text: 'a\u202egnp.exe\u202c', line: 'a gnp.exe', lines: 'a gnp.exe ' },
  { reason: 'isolated text', text: '\u2066a\u2069', line: 'a', lines: ' a ' },
  { reason: 'invisible characters', text: 'adm\u200bin\ufeff', line: 'adm in', lines: 'adm in ' },
  { reason: 'separators', text: 'a\u2028b\u2029c', line: 'a b c' },
  { reason: 'half a character', text: 'a\ud800b', line: 'a b' },
  { reason: 'a tab', text: 'a\tb', line: 'a b', lines: 'a\tb' },
])('$reason is made plain', ({ text, line, lines = line }) => {
  expect(plainLine(text)).toBe(line);
  expect(plainText(text)).toBe(lines);
});

describe('escapeUnsafe', () => {
  test('keeps the meaning of JSON, and leaves nothing unsafe', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const escaped = escapeUnsafe(JSON.stringify({ text }));
        expect(JSON.parse(escaped)).toEqual({ text });
        expect(hostile.test(escaped)).toBe(false);
      }),
    );
  });
  test('keeps line breaks', () => expect(escapeUnsafe('a\n\u009b\u{e0041}')).toBe('a\n\\u009b\\udb40\\udc41'));
});

test('plain data is cleaned down to its keys, other values stay', () => {
  const made = new Date(0);
  const given = { 'k\u001b': ['a\nb', { picture: 'c\nd\u0007', n: 1, none: null }], made };
  expect(plainValues(given, ['picture'])).toEqual({ k: ['a b', { picture: 'c\nd ', n: 1, none: null }], made });
});
