import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { patternIncludes, stringsOf } from './index.ts';
import { inclusions } from './support/inclusions.ts';

describe('whether one pattern matches all that another matches', () => {
  it.each(inclusions)('$reason: $narrow in $wide: $answer', ({ wide, narrow, answer }) => {
    const found = patternIncludes(wide, narrow);
    expect(found.answer).toBe(answer);
    if (found.answer !== 'no') return;
    expect(RE2JS.compile(narrow).test(found.witness)).toBe(true);
    expect(RE2JS.compile(wide).test(found.witness)).toBe(false);
  });

  it('says the same each time', () => {
    const first = patternIncludes('a.{40}c', 'a.{40}b.{40}c');
    patternIncludes('a.{40}', '[ab].{40}');
    expect(patternIncludes('a.{40}c', 'a.{40}b.{40}c')).toEqual(first);
  });
});

/** Small patterns over few letters, so that pairs of them are often related. */
const { pattern: patterns } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      'a',
      'b',
      '[ab]',
      '[^a]',
      '.',
      'é',
      '\\d',
      '\\w',
      '\\s',
      '^',
      '$',
      '\\b',
      '\\B',
      '(?i:k)',
      '(?m:^)',
      '(?m:$)',
      '\\n',
      '',
    ),
    fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => left + right),
    fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,}', '*?'))
      .map(([inner, times]) => `(?:${inner})${times}`),
    tie('pattern').map((inner) => `^${inner}$`),
    tie('pattern').map((inner) => `(?s)${inner}`),
  ),
}));
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'k', 'K', '\u212a', 'é', '0', ' ', '\n', '_'), maxLength: 6 });
const unicodeText = fc.string({ unit: 'grapheme', maxLength: 4 });

describe('against RE2JS', () => {
  it('agrees on what matches', () => {
    fc.assert(
      fc.property(patterns, fc.oneof(text, unicodeText), (pattern, candidate) => {
        const matches = RE2JS.compile(pattern).test(candidate);
        expect(patternIncludes(pattern, `\\A${RE2JS.quote(candidate)}\\z`).answer).toBe(matches ? 'yes' : 'no');
        expect(stringsOf({ pattern }).has(candidate)).toBe(matches);
      }),
      { numRuns: 600 },
    );
  });

  it('is right about inclusion', () => {
    fc.assert(
      fc.property(patterns, patterns, fc.array(text, { maxLength: 20 }), (wide, narrow, candidates) => {
        const found = patternIncludes(wide, narrow);
        const [isWide, isNarrow] = [RE2JS.compile(wide), RE2JS.compile(narrow)];
        if (found.answer === 'no') {
          expect([isNarrow.test(found.witness), isWide.test(found.witness)]).toEqual([true, false]);
        }
        if (found.answer === 'yes') {
          for (const each of candidates) expect(!isNarrow.test(each) || isWide.test(each)).toBe(true);
        }
      }),
      { numRuns: 600 },
    );
  });

  it('decides small patterns', () => {
    fc.assert(
      fc.property(patterns, patterns, (wide, narrow) => {
        expect(patternIncludes(wide, narrow).answer).not.toBe('unknown');
      }),
      { numRuns: 300 },
    );
  });
});
