import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { CelError } from '../values.ts';
import { automaton } from './automaton.ts';
import { compileRegex, matches } from './regex.ts';

describe('matches', () => {
  test.each([
    { reason: 'somewhere in the text', text: 'abc', pattern: 'b', value: true },
    { reason: 'anchors', text: 'abc', pattern: '^b', value: false },
    { reason: 'the whole text', text: 'web-1', pattern: '^[a-z]+(-[0-9]+)?$', value: true },
    { reason: 'the end is not before a line end', text: 'a\n', pattern: '^a$', value: false },
    { reason: 'a point is no line end', text: 'a\nb', pattern: 'a.b', value: false },
    { reason: 'counts', text: 'aaaa', pattern: '^a{2,3}$', value: false },
    { reason: 'the empty pattern', text: '', pattern: '', value: true },
    { reason: 'classes with a dash and a bracket', text: ']', pattern: '^[]-]$', value: true },
    { reason: 'text that is not ASCII', text: 'é', pattern: '^.$', value: true },
    { reason: 'code points, not units', text: '😀', pattern: '^.$', value: true },
    { reason: 'flags of RE2', text: 'ABC', pattern: '(?i)abc', value: true },
    { reason: 'named classes', text: 'a1', pattern: '^[[:alpha:]][[:digit:]]$', value: true },
    { reason: 'alternatives with anchors of their own', text: 'xb', pattern: '^a|b$', value: true },
  ])('$reason: $pattern', ({ text, pattern, value }) => {
    expect(matches(text, pattern)).toBe(value);
  });

  test.each(['(', 'a**', '[z-a]', '(?=a)', '\\1', 'a{2,1}'])('%s is no pattern of RE2', (pattern) => {
    expect(compileRegex(pattern)).toBeInstanceOf(CelError);
  });

  test.each([
    '^(a+)+$',
    '(a|aa)+$',
    '(a*)*b',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
  ])('%s takes no time on what does not match', (pattern) => {
    expect(matches(`${'a'.repeat(20_000)}!`, pattern)).toBe(false);
  });
});

test('the automaton agrees with RE2, or returns undefined', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    '-',
    '.',
    '[a-c]',
    '[^a]',
    '\\d',
    '\\w',
    '\\.',
    '[-a]',
    '[\\w.]',
    '\\s',
    '[]a]',
  );
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { depthSize: 'small' },
      atom,
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(${a}|${b})`),
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{1,3}', '{2}', '*?', '{2,}'))
        .map(([a, r]) => `(?:${a})${r}`),
    ),
  }));
  const whole = fc
    .tuple(fc.boolean(), pattern, fc.boolean())
    .map(([start, body, end]) => `${start ? '^' : ''}${body}${end ? '$' : ''}`);
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-', '.', '0', ' ', '\n', 'é'), maxLength: 10 });
  let plain = 0;
  fc.assert(
    fc.property(whole, fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
      const made = automaton(source);
      if (made === undefined) return;
      plain++;
      const re2 = RE2JS.compile(source);
      for (const each of texts) expect(made.test(each) ?? re2.test(each)).toBe(re2.test(each));
    }),
    { numRuns: 1000, seed: 2 },
  );
  expect(plain).toBeGreaterThan(500);
});
