import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CelError, type Double } from '../../values.ts';
import { caller, costOf } from '../support/overloads.ts';
import { Quantity, quantities, quantity } from './quantity.ts';

const call = caller(quantities);
const parsed = (text: string): Quantity => {
  const value = quantity(text);
  if (value instanceof CelError) throw new Error(value.message);
  return value;
};

describe('isQuantity', () => {
  it.each([
    { text: '1.5G', valid: true, reason: 'a fraction with a decimal suffix' },
    { text: '1.3Gi', valid: true, reason: 'a fraction with a binary suffix' },
    { text: '10000k', valid: true, reason: 'the suffix for a thousand is a small k' },
    { text: '200K', valid: false, reason: 'there is no decimal suffix K' },
    { text: '1,3G', valid: false, reason: 'a comma is no point' },
    { text: 'Three', valid: false, reason: 'letters that are no suffix' },
    { text: '', valid: false, reason: 'nothing' },
    { text: 'Mi', valid: true, reason: 'no digits are zero: Kubernetes reads it so, whatever its documentation says' },
    { text: '.', valid: true, reason: 'no digits around a point are zero too' },
    { text: '12e6', valid: true, reason: 'an exponent' },
    { text: '1e-3', valid: true, reason: 'a negative exponent' },
    { text: '1e', valid: false, reason: 'an exponent without digits' },
    { text: '1E', valid: true, reason: 'E alone is exa' },
    { text: '1e99999999999999999999', valid: false, reason: 'an exponent past int64' },
    { text: ' 1', valid: false, reason: 'blanks are not skipped' },
    { text: `${'0'.repeat(200_000)}x`, valid: false, reason: 'a long run of zeros is read once' },
  ])('$valid for $reason', ({ text, valid }) => {
    expect(call('is_quantity_string', text)).toBe(valid);
    expect(call('string_to_quantity', text) instanceof Quantity).toBe(valid);
  });
});

describe('asInteger', () => {
  it.each([
    { text: '50k', value: 50_000, reason: 'a whole number with a suffix' },
    { text: '1Ti', value: 2 ** 40, reason: 'a binary suffix' },
    { text: '1Ei', value: undefined, reason: 'large binary suffixes are kept as decimals' },
    { text: '9007199254740993', value: 9007199254740993n, reason: 'past 2^53' },
    { text: '9223372036854775807', value: undefined, reason: '19 digits are kept as a decimal, which has no int' },
    { text: '1000m', value: undefined, reason: 'a scale below zero is not reduced' },
    { text: '0.5', value: undefined, reason: 'a fraction' },
    { text: '1e19', value: undefined, reason: 'past int64' },
    { text: '-1Ki', value: -1024, reason: 'a negative one' },
  ])('$text: $reason', ({ text, value }) => {
    const of = parsed(text);
    expect(call('quantity_is_integer', of)).toBe(value !== undefined);
    const result = call('quantity_get_int', of);
    if (value === undefined) expect(result).toMatchObject({ code: 'conversion' });
    else expect(result).toBe(value);
  });
});

describe('arithmetic', () => {
  it.each([
    { left: '50k', right: '20k', sum: '70k', difference: '30k', reason: 'the same suffix' },
    { left: '1Gi', right: '1', sum: '1073741825', difference: '1073741823', reason: 'a binary and a plain one' },
    { left: '1', right: '1n', sum: '1000000001n', difference: '999999999n', reason: 'nine places apart' },
    { left: '0', right: '1.5', sum: '1500m', difference: '-1500m', reason: 'zero and a fraction' },
    {
      left: '9223372036854775807',
      right: '1',
      sum: '9223372036854775808',
      difference: '9223372036854775806',
      reason: 'past int64',
    },
    {
      left: '1e30',
      right: '1',
      sum: '1000000000000000000000000000001',
      difference: '999999999999999999999999999999',
      reason: 'thirty places apart',
    },
  ])('of $left and $right: $reason', ({ left, right, sum, difference }) => {
    expect(String(call('quantity_add', parsed(left), parsed(right)))).toBe(sum);
    expect(String(call('quantity_sub', parsed(left), parsed(right)))).toBe(difference);
  });

  it('adds and subtracts ints', () => {
    expect(String(call('quantity_add_int', parsed('50k'), 20))).toBe('50020');
    expect(String(call('quantity_sub_int', parsed('50k'), 20_000))).toBe('30k');
  });

  it('negates the lowest int64 to itself, like Kubernetes', () => {
    const result = call('quantity_sub_int', parsed('1'), -(2n ** 63n)) as Quantity;
    expect(result.amount.unscaled).toBe(-(2n ** 63n) + 1n);
  });

  it('rejects sums that would not fit into memory', () => {
    expect(call('quantity_add', parsed('1e1000000000'), parsed('1'))).toMatchObject({ code: 'overflow' });
  });
});

describe('equality', () => {
  it.each([
    { left: parsed('200M'), right: parsed('0.2G'), equal: true, reason: 'the same amount, written differently' },
    { left: parsed('1'), right: parsed('2'), equal: false, reason: 'different amounts' },
  ])('$equal for $reason', ({ left, right, equal }) => expect(left.equalsOrError(right)).toBe(equal));

  it('accepts a computed quantity on the left only, like Kubernetes', () => {
    const computed = call('quantity_add_int', parsed('0'), 1) as Quantity;
    expect(computed.equalsOrError(parsed('1'))).toBe(true);
    expect(parsed('1').equalsOrError(computed)).toBeInstanceOf(CelError);
    expect(parsed('1').equals(computed)).toBe(false);
  });

  it('fails for other types', () => {
    expect(parsed('1').equalsOrError(1)).toMatchObject({ code: 'no_such_overload' });
  });
});

describe('asApproximateFloat', () => {
  it.each([
    { text: '50k', value: 50_000, reason: 'exact' },
    { text: '1e400', value: Number.POSITIVE_INFINITY, reason: 'past the largest double' },
    { text: '1n', value: 1e-9, reason: 'the smallest step' },
    { text: '0e400', value: Number.NaN, reason: 'zero times infinity, as in Go' },
  ])('$text: $reason', ({ text, value }) => {
    const result = call('quantity_get_float', parsed(text));
    expect(typeof result === 'number' ? result : (result as Double).value).toBe(value);
  });
});

const SUFFIXES: readonly (readonly [string, bigint, bigint])[] = [
  ['', 1n, 1n],
  ['n', 1n, 10n ** 9n],
  ['u', 1n, 10n ** 6n],
  ['m', 1n, 1000n],
  ['k', 1000n, 1n],
  ['M', 10n ** 6n, 1n],
  ['E', 10n ** 18n, 1n],
  ['Ki', 1n << 10n, 1n],
  ['Gi', 1n << 30n, 1n],
  ['e3', 1000n, 1n],
];

/** A quantity below the cap of binary suffixes, and its value as a fraction. */
const quantities$ = fc
  .record({
    whole: fc.bigInt({ min: 0n, max: 10n ** 9n }),
    fraction: fc.option(fc.nat(999), { nil: undefined }),
    suffix: fc.constantFrom(...SUFFIXES.filter(([name]) => name !== 'n' && name !== 'u')),
    negative: fc.boolean(),
  })
  .map(({ whole, fraction, suffix: [name, numerator, denominator], negative }) => ({
    text: `${negative ? '-' : ''}${whole}${fraction === undefined ? '' : `.${String(fraction).padStart(3, '0')}`}${name}`,
    numerator: (negative ? -1n : 1n) * (whole * 1000n + BigInt(fraction ?? 0)) * numerator,
    denominator: 1000n * denominator,
  }));

describe('against exact fractions', () => {
  it('has the same order as the fractions', () => {
    fc.assert(
      fc.property(quantities$, quantities$, (left, right) => {
        const difference = left.numerator * right.denominator - right.numerator * left.denominator;
        const order = difference < 0n ? -1 : difference > 0n ? 1 : 0;
        expect(call('quantity_compare_to', parsed(left.text), parsed(right.text))).toBe(order);
        expect(call('quantity_is_less_than', parsed(left.text), parsed(right.text))).toBe(order < 0);
        expect(call('quantity_is_greater_than', parsed(left.text), parsed(right.text))).toBe(order > 0);
      }),
    );
  });

  it('adding and subtracting returns the original', () => {
    fc.assert(
      fc.property(quantities$, quantities$, (left, right) => {
        const sum = call('quantity_add', parsed(left.text), parsed(right.text)) as Quantity;
        const back = call('quantity_sub', sum, parsed(right.text)) as Quantity;
        expect(call('quantity_compare_to', back, parsed(left.text))).toBe(0);
      }),
    );
  });

  it('parses its own canonical form', () => {
    fc.assert(
      fc.property(quantities$, ({ text }) => {
        const value = parsed(text);
        expect(call('quantity_compare_to', parsed(value.toString()), value)).toBe(0);
      }),
    );
  });
});

it('charges the text of a quantity, and one for everything else', () => {
  expect(costOf([quantities], 'string_to_quantity', '12345678901')).toBe(2);
  expect(costOf([quantities], 'quantity_compare_to', parsed('1'), parsed('2'))).toBe(1);
});
