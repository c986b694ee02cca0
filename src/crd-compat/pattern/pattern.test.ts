import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { patternIncludes, stringsOf } from './index.ts';

interface Row {
  readonly reason: string;
  readonly wide: string;
  readonly narrow: string;
  readonly answer: 'yes' | 'no' | 'unknown';
}

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SHORT_LABEL = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';

const rows: readonly Row[] = [
  { reason: 'a class with fewer letters', wide: '^[a-z]+$', narrow: '^[a-y]+$', answer: 'yes' },
  { reason: 'a class with more letters', wide: '^[a-y]+$', narrow: '^[a-z]+$', answer: 'no' },
  { reason: 'without anchors a pattern is searched for', wide: 'b', narrow: '^abc$', answer: 'yes' },
  { reason: 'an anchor is taken off', wide: '^a', narrow: '^a$', answer: 'yes' },
  { reason: 'an anchor is put on', wide: '^a$', narrow: '^a', answer: 'no' },
  { reason: 'one spelling and another', wide: '^(a|b)$', narrow: '\\A[ab]\\z', answer: 'yes' },
  { reason: 'labels of any length hold the short ones', wide: `^${LABEL}$`, narrow: `^${SHORT_LABEL}$`, answer: 'yes' },
  { reason: 'short labels do not hold the long ones', wide: `^${SHORT_LABEL}$`, narrow: `^${LABEL}$`, answer: 'no' },
  {
    reason: 'more than one label',
    wide: `^${LABEL}(\\.${LABEL})*$`,
    narrow: `^${SHORT_LABEL}(\\.${SHORT_LABEL})*$`,
    answer: 'yes',
  },
  { reason: 'case does not matter to the wide one', wide: '(?i)^kelvin$', narrow: '^[kK]elvin$', answer: 'yes' },
  { reason: 'the sign of Kelvin is a k where case does not matter', wide: '^[kK]$', narrow: '(?i)^k$', answer: 'no' },
  { reason: 'a dot is no newline', wide: '^.*$', narrow: '(?s)^.*$', answer: 'no' },
  { reason: 'a dot with (?s) is any character', wide: '(?s)^.*$', narrow: '^.*$', answer: 'yes' },
  { reason: 'everything', wide: '', narrow: 'x', answer: 'yes' },
  { reason: 'nothing is in everything', wide: 'x', narrow: '[^\\x00-\\x{10ffff}]', answer: 'yes' },
  { reason: 'lines are longer than text', wide: '(?m)^a$', narrow: '^a$', answer: 'yes' },
  { reason: 'text is one of many lines', wide: '^a$', narrow: '(?m)^a$', answer: 'no' },
  { reason: 'a word boundary at the edges', wide: '\\bfoo\\b', narrow: '^(foo|a foo)$', answer: 'yes' },
  { reason: 'no word boundary inside a word', wide: '\\bfoo\\b', narrow: 'foo', answer: 'no' },
  { reason: 'repeated anchors end', wide: '(?:^)*a', narrow: '(?:^|$)*a', answer: 'yes' },
  { reason: 'classes of Unicode', wide: '^\\p{L}$', narrow: '^[\\p{Greek}&&[a-z]]$|^\\p{Lu}$', answer: 'no' },
  { reason: 'a class of Unicode in a larger one', wide: '^\\p{L}+$', narrow: '^\\p{Lu}\\p{Ll}*$', answer: 'yes' },
  { reason: 'counted the other way', wide: '^a{2,9}$', narrow: '^(aa){1,4}$', answer: 'yes' },
  { reason: 'the same pattern, however large', wide: 'a.{40}b.{40}', narrow: 'a.{40}b.{40}', answer: 'yes' },
  { reason: 'too large to compare, but not to try', wide: 'a.{40}c', narrow: 'a.{40}b.{40}c', answer: 'no' },
  { reason: 'together too large', wide: '^(.*c.{12}|b)$', narrow: '^(.*a.{12}|b)$', answer: 'no' },
  { reason: 'each too large', wide: '^(a|b)*b(a|b){18}$', narrow: '^(a|b)*a(a|b){18}$', answer: 'no' },
  { reason: 'too large to be proved', wide: '^[ab]*a[ab]{18}$', narrow: '^(a|b)*a(a|b){18}$', answer: 'unknown' },
  { reason: 'no pattern', wide: '(', narrow: 'a', answer: 'unknown' },
];

describe('whether one pattern matches all that another matches', () => {
  it.each(rows)('$reason: $narrow in $wide: $answer', ({ wide, narrow, answer }) => {
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

/** Small patterns over few letters, so that they often have something to do with each other. */
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
