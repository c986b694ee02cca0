import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { macroTable } from '../../parse/macros.ts';
import { parse } from '../../parse/parser.ts';
import { Double, INT_MAX, INT_MIN, UINT_MAX, Uint, type Value } from '../../values.ts';
import { caller, costOf } from '../support/overloads.ts';
import { math } from './math.ts';

const call = caller(math);

describe('doubles', () => {
  it.each([
    { id: 'math_ceil_double', value: 1.2, is: new Double(2), reason: 'up' },
    { id: 'math_floor_double', value: -1.2, is: new Double(-2), reason: 'down' },
    { id: 'math_trunc_double', value: -1.9, is: new Double(-1), reason: 'towards zero' },
    { id: 'math_round_double', value: 2.5, is: new Double(3), reason: 'halves away from zero' },
    { id: 'math_round_double', value: -2.5, is: new Double(-3), reason: 'halves away from zero' },
    { id: 'math_round_double', value: 0.49999999999999994, is: new Double(0), reason: 'the number before a half' },
    { id: 'math_round_double', value: Number.NaN, is: Number.NaN, reason: 'NaN stays' },
    {
      id: 'math_round_double',
      value: Number.POSITIVE_INFINITY,
      is: Number.POSITIVE_INFINITY,
      reason: 'infinity stays',
    },
    { id: 'math_abs_double', value: -1.5, is: 1.5, reason: 'without its sign' },
    { id: 'math_sign_double', value: -0.5, is: new Double(-1), reason: 'negative' },
    { id: 'math_sign_double', value: Number.NaN, is: Number.NaN, reason: 'NaN has none' },
    { id: 'math_sqrt_double', value: 2.25, is: 1.5, reason: 'a square root' },
    { id: 'math_sqrt_double', value: -1.5, is: Number.NaN, reason: 'of a negative number none' },
    { id: 'math_isNaN_double', value: Number.NaN, is: true, reason: 'NaN' },
    { id: 'math_isInf_double', value: Number.NEGATIVE_INFINITY, is: true, reason: 'either infinity' },
    { id: 'math_isFinite_double', value: Number.NaN, is: false, reason: 'NaN is not finite' },
  ])('$id: $reason', ({ id, value, is }) => expect(call(id, value)).toEqual(is));
});

describe('whole numbers', () => {
  it.each([
    { id: 'math_abs_int', args: [-7], is: 7, reason: 'without its sign' },
    { id: 'math_sign_int', args: [INT_MIN], is: -1, reason: 'negative' },
    { id: 'math_sign_uint', args: [new Uint(9)], is: new Uint(1), reason: 'positive' },
    { id: 'math_sqrt_int', args: [81], is: new Double(9), reason: 'a double comes out' },
    { id: 'math_bitAnd_int_int', args: [-1, 6], is: 6, reason: 'two’s complement' },
    { id: 'math_bitOr_uint_uint', args: [new Uint(1), new Uint(2)], is: new Uint(3), reason: 'uints' },
    { id: 'math_bitXor_int_int', args: [INT_MAX, -1], is: INT_MIN, reason: 'all 64 bits' },
    { id: 'math_bitNot_int_int', args: [0], is: -1, reason: 'all bits' },
    { id: 'math_bitNot_uint_uint', args: [new Uint(0)], is: new Uint(UINT_MAX), reason: 'all bits' },
    { id: 'math_bitShiftLeft_int_int', args: [1, 63], is: INT_MIN, reason: 'into the sign' },
    { id: 'math_bitShiftLeft_int_int', args: [1, 64], is: 0, reason: 'out at the top' },
    {
      id: 'math_bitShiftLeft_uint_int',
      args: [new Uint(1), 2n ** 62n],
      is: new Uint(0),
      reason: 'as far as one likes',
    },
    { id: 'math_bitShiftRight_int_int', args: [-1, 63], is: 1, reason: 'zeros come in' },
    { id: 'math_bitShiftRight_uint_int', args: [new Uint(8), 2], is: new Uint(2), reason: 'uints' },
  ])('$id of $args: $reason', ({ id, args, is }) => expect(call(id, ...(args as Value[]))).toEqual(is));

  it.each([
    { id: 'math_abs_int', args: [INT_MIN], code: 'overflow', reason: 'the lowest has no opposite' },
    { id: 'math_bitShiftLeft_int_int', args: [1, -1], code: 'invalid_argument', reason: 'a negative shift' },
  ])('$id refuses: $reason', ({ id, args, code }) => {
    expect(call(id, ...(args as Value[]))).toMatchObject({ code });
  });

  it('shifts like a 64-bit BigInt', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: INT_MIN, max: INT_MAX }), fc.nat(70), (value, bits) => {
        const int = Number.isSafeInteger(Number(value)) ? Number(value) : value;
        const left = call('math_bitShiftLeft_int_int', int, bits);
        expect(BigInt(left as number)).toBe(BigInt.asIntN(64, value << BigInt(bits)));
        const right = call('math_bitShiftRight_int_int', int, bits);
        expect(BigInt(right as number)).toBe(BigInt.asIntN(64, BigInt.asUintN(64, value) >> BigInt(bits)));
      }),
    );
  });
});

describe('least and greatest', () => {
  it.each([
    { args: [1, new Double(1)], least: 1, greatest: 1, reason: 'of equal ones the first' },
    { args: [new Uint(2), -1], least: -1, greatest: new Uint(2), reason: 'across types' },
  ])('of two: $reason', ({ args, least, greatest }) => {
    expect(call('math_@min_int_int', ...(args as Value[]))).toEqual(least);
    expect(call('math_@max_int_int', ...(args as Value[]))).toEqual(greatest);
  });

  it('take a list', () => {
    expect(call('math_@min_list_int', [3, 1, 2])).toBe(1);
    expect(call('math_@max_list_int', [3, 1, 2])).toBe(3);
    expect(costOf([math], 'math_@max_list_int', [3, 1, 2])).toBe(4);
  });

  it.each([
    { of: [], code: 'invalid_argument', reason: 'nothing' },
    { of: [1.5, Number.NaN], code: 'invalid_argument', reason: 'NaN has no order' },
    { of: ['a'], code: 'no_such_overload', reason: 'a string' },
  ])('refuse $reason', ({ of, code }) => expect(call('math_@min_list_int', of as Value[])).toMatchObject({ code }));

  const expand = (text: string) => parse(text, { macros: macroTable(math.macros ?? []) });
  it.each([
    { text: 'math.least(a)', is: { function: 'math.@min', args: [{ kind: 'identifier' }] }, reason: 'one' },
    { text: 'math.least([1, a])', is: { function: 'math.@min', args: [{ kind: 'list' }] }, reason: 'a list' },
    { text: 'math.greatest(1, a)', is: { function: 'math.@max', args: [{}, {}] }, reason: 'two' },
    {
      text: 'math.greatest(1, 2.5, 3u)',
      is: { function: 'math.@max', args: [{ kind: 'list' }] },
      reason: 'three become a list',
    },
    {
      text: 'other.least(1)',
      is: { function: 'least', target: { name: 'other' } },
      reason: 'another receiver is let be',
    },
  ])('$text: $reason', ({ text, is }) => expect(expand(text).ast).toMatchObject(is));

  it.each([
    { text: 'math.least()', reason: 'no argument' },
    { text: 'math.least([])', reason: 'an empty list' },
    { text: "math.least('a')", reason: 'a string' },
    { text: 'math.greatest(1, {})', reason: 'a map' },
    { text: "math.greatest(['a'])", reason: 'a list of strings' },
  ])('$text is refused: $reason', ({ text }) => expect(expand(text).issues).toHaveLength(1));
});
