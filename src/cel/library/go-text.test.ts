import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixedDecimal, scientificDecimal } from './decimal-text.ts';
import { quote, trimSpace } from './go-text.ts';

it.each([
  { text: 'a"b\\c', is: '"a\\"b\\\\c"', reason: 'quotes and backslashes' },
  { text: '\x07\b\f\n\r\t\v', is: '"\\a\\b\\f\\n\\r\\t\\v"', reason: 'short escapes' },
  { text: '\x00\x7f', is: '"\\x00\\x7f"', reason: 'control characters' },
  { text: 'é😀', is: '"é😀"', reason: 'what can be printed' },
  { text: '\u0085\u200b\u{e0001}', is: '"\\u0085\\u200b\\U000e0001"', reason: 'what cannot' },
  { text: '\ud800', is: '"\ufffd"', reason: 'a lone surrogate' },
])('quotes $reason', ({ text, is }) => expect(quote(text)).toBe(is));

it.each([
  { text: ' \t\u2003a b\u3000\n', is: 'a b', reason: 'all kinds of space at both ends' },
  { text: '\ufeffa\u200b', is: '\ufeffa\u200b', reason: 'a byte order mark and a zero-width space are no space' },
  { text: ' \n ', is: '', reason: 'nothing but space' },
])('trims $reason', ({ text, is }) => expect(trimSpace(text)).toBe(is));

describe('decimals', () => {
  it.each([
    { value: 0.5, digits: 0, is: '0', reason: 'a tie goes to the even one below' },
    { value: 1.5, digits: 0, is: '2', reason: 'or above' },
    { value: 1e22, digits: 1, is: '10000000000000000000000.0', reason: 'no exponent however large' },
    { value: -0, digits: 2, is: '-0.00', reason: 'negative zero' },
    { value: 5e-324, digits: 3, is: '0.000', reason: 'the smallest' },
  ])('fixed: $reason', ({ value, digits, is }) => expect(fixedDecimal(value, digits)).toBe(is));

  it.each([
    { value: 9.995, digits: 2, mantissa: '9.99', exponent: 0, reason: 'below a tie in truth' },
    { value: 99.996, digits: 3, mantissa: '1.000', exponent: 2, reason: 'a carry' },
    { value: 1000, digits: 0, mantissa: '1', exponent: 3, reason: 'a power of ten' },
    { value: 0, digits: 2, mantissa: '0.00', exponent: 0, reason: 'zero' },
    { value: -1.7976931348623157e308, digits: 1, mantissa: '-1.8', exponent: 308, reason: 'the largest' },
  ])('scientific: $reason', ({ value, digits, mantissa, exponent }) => {
    expect(scientificDecimal(value, digits)).toEqual({ mantissa, exponent });
  });

  const number$ = fc.double({ noDefaultInfinity: true, noNaN: true });

  it('rounds to within half a unit of the last place', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e15, max: 1e15, noNaN: true }), fc.nat(5), (value, digits) => {
        expect(Math.abs(Number(fixedDecimal(value, digits)) - value)).toBeLessThanOrEqual(
          0.5 * 10 ** -digits + Math.abs(value) * 1e-15,
        );
      }),
    );
  });

  it('rounds ties to even', () => {
    expect(scientificDecimal(24227305829010.754, 20)).toMatchObject({
      mantissa: '2.42273058290107539062',
      exponent: 13,
    });
  });

  it('agrees with JavaScript on scientific notation, except for ties', () => {
    fc.assert(
      fc.property(number$, (value) => {
        // Exactly between two: Go takes the even one, JavaScript the larger.
        fc.pre(!/^-?\d\.\d{20}50*e/.test(value.toExponential(100)));
        const { mantissa, exponent } = scientificDecimal(value, 20);
        const [expected = '', power = ''] = value.toExponential(20).split('e');
        expect([mantissa.replace('-0.', '0.'), exponent]).toEqual([expected.replace('-0.', '0.'), Number(power)]);
      }),
    );
  });
});
