import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEEPEST, parseStrictly, problemOfValue } from './strict-json.ts';

/** Any, halves of pairs too. fast-check's own tables of characters take seconds to make. */
const unit = fc.nat(0xffff).map((code) => String.fromCharCode(code));
const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('what is refused though JSON.parse takes it', () => {
  test.each([
    { text: '{"a":1,"a":2}', reason: 'a field twice' },
    { text: '{"a":1,"\\u0061":2}', reason: 'a field twice, once escaped' },
    { text: '{"x":{"a":1},"y":[{"a":1,"b":{"c":1,"c":1}}]}', reason: 'a field twice, far inside' },
    { text: '{"a":{},"a":{}}', reason: 'a field twice, of objects' },
    { text: '{"a":"}","a":1}', reason: 'a brace within a text ends nothing' },
    { text: '{"a":"\\\\","a":1}', reason: 'a backslash that escapes itself does not escape the quote' },
    { text: '{"__proto__":1}', reason: 'a prototype' },
    { text: '{"a":[{"__proto__":{}}]}', reason: 'a prototype, inside' },
    { text: '{"__pr\\u006fto__":1}', reason: 'a prototype, escaped' },
    { text: '{"constructor":{"prototype":{}}}', reason: 'a prototype, by way of the constructor' },
    { text: deep(DEEPEST + 1), reason: 'too deep' },
    { text: deep(20_000), reason: 'far too deep' },
  ])('$reason', ({ text }) => {
    expect(() => JSON.parse(text)).not.toThrow();
    expect(parseStrictly(text)).toHaveProperty('problem');
  });
});

describe('what is taken', () => {
  test.each([
    { text: '{"a":{"a":{"a":1}}}', reason: 'the same name at different depths' },
    { text: '[{"a":1},{"a":2}]', reason: 'the same name in neighbours' },
    { text: '{"a":"b","b":"a"}', reason: 'a value like a name' },
    { text: '{"a":["x","x"],"b":["x"]}', reason: 'the same text twice in a list' },
    { text: '{"constructor":"x","prototype":1}', reason: 'words that are harmless on their own' },
    { text: '{"":1," ":2}', reason: 'strange names' },
    { text: deep(DEEPEST), reason: 'just not too deep' },
    { text: ' \n\t[ ] ', reason: 'blanks' },
  ])('$reason', ({ text }) => {
    expect(parseStrictly(text)).toEqual({ value: JSON.parse(text) });
    expect(problemOfValue(JSON.parse(text))).toBeUndefined();
  });
});

test.each([
  { bytes: [0xef, 0xbb, 0xbf, 0x31], reason: 'a byte order mark' },
  { bytes: [0x22, 0xc3, 0x22], reason: 'half a character' },
  { bytes: [0x22, 0xed, 0xa0, 0x80, 0x22], reason: 'a surrogate' },
  { bytes: [], reason: 'nothing' },
])('bytes that are no text: $reason', ({ bytes }) => {
  expect(parseStrictly(Uint8Array.from(bytes))).toHaveProperty('problem');
});

test('any JSON that has no prototype in it reads as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(0, 2), (text, indent) => {
      const value: unknown = JSON.parse(text);
      const spaced = JSON.stringify(value, null, indent);
      const strict = parseStrictly(spaced);
      if (spaced.includes('__proto__') || spaced.includes('prototype')) return;
      expect(strict).toEqual({ value });
      expect(problemOfValue(value)).toBeUndefined();
    }),
  );
});

test('any field that is said twice is found, wherever it is', () => {
  const name = fc.string({ unit, maxLength: 8 });
  fc.assert(
    fc.property(name, fc.json({ maxDepth: 3 }), fc.array(name, { maxLength: 5 }), (twice, other, path) => {
      const inner = `{${JSON.stringify(twice)}:${other},${JSON.stringify(twice)}:0}`;
      const text = path.reduce((within, each) => `{${JSON.stringify(each)}:[${within}]}`, inner);
      expect(parseStrictly(text)).toHaveProperty('problem');
    }),
  );
});

test('no bytes and no value make it throw', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void parseStrictly(bytes)));
  fc.assert(fc.property(fc.string({ unit }), (text) => void parseStrictly(text)));
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }), (value) => {
      problemOfValue(value);
    }),
    { numRuns: 30 },
  );
  const trap = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('trapped');
      },
    },
  );
  expect(problemOfValue(trap)).toBe('it cannot be read');
});

test('a value that refers to itself ends', () => {
  const loop: { self?: unknown } = {};
  loop.self = loop;
  expect(problemOfValue(loop)).toMatch('nested deeper');
});
