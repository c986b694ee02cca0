import { describe, expect, it } from 'vitest';
import type { Call, Expr } from '../../ast.ts';
import { DOUBLE, DYN, INT, list, STRING, type Type } from '../../types.ts';
import { CelError, CelMap, Double, Duration, Optional, Timestamp, TypeValue, Uint, type Value } from '../../values.ts';
import { format } from './format-string.ts';

const { formatText, formatValidator } = format;

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

describe('%s', () => {
  it.each([
    { value: 'a%s', is: 'a%s', reason: 'a string as it is' },
    { value: null, is: 'null', reason: 'null' },
    { value: 1e6, is: '1000000', reason: 'an int' },
    { value: new Double(1e6), is: '1e+06', reason: 'a double from a million on' },
    { value: 0.0001, is: '0.0001', reason: 'a small double' },
    { value: new Uint(2n ** 63n), is: '9223372036854775808', reason: 'a uint' },
    { value: bytes(0x68, 0x69), is: 'hi', reason: 'bytes as UTF-8' },
    { value: new Duration(1_500_000_000n), is: '1.5s', reason: 'a duration in seconds' },
    { value: new Timestamp(0, 500_000_000), is: '1970-01-01T00:00:00.5Z', reason: 'a time' },
    { value: new TypeValue('int'), is: 'int', reason: 'a type by name' },
    {
      value: ['a"', 1.5, Number.NaN, new Double(2), bytes(0x01), null],
      is: '["a\\"", 1.500000, "NaN", 2.000000, b"\\x01", null]',
      reason: 'literals inside a list',
    },
    {
      value: [new Duration(1n), new Timestamp(0, 0)],
      is: '[duration("0.000000001s"), timestamp("1970-01-01T00:00:00Z")]',
      reason: 'times inside a list',
    },
    { value: { b: [1], a: true }, is: '{"a":true, "b":[1]}', reason: 'a map in the order of its keys' },
    {
      value: new CelMap([
        [2, 'x'],
        ['a', 1],
        [true, null],
      ]),
      is: '{"a":1, 2:"x", true:null}',
      reason: 'keys of all types',
    },
  ])('of $reason', ({ value, is }) => expect(formatText('%s', [value as Value])).toBe(is));

  it.each([
    { value: Optional.none, reason: 'an optional' },
    { value: [Optional.none], reason: 'an optional in a list' },
    { value: bytes(0xff), reason: 'bytes that are no UTF-8' },
  ])('refuses $reason', ({ value }) => expect(formatText('%s', [value as Value])).toBeInstanceOf(CelError));
});

describe('numbers', () => {
  it.each([
    { template: '%f', value: 1234567.891, is: '1,234,567.891000', reason: 'thousands are grouped' },
    { template: '%.0f', value: 2.5, is: '2', reason: 'ties go to even' },
    { template: '%.1f', value: 0.25, is: '0.2', reason: 'ties go to even' },
    { template: '%.3f', value: 999.9996, is: '1,000.000', reason: 'a carry may make a group' },
    { template: '%.25f', value: 0.1, is: '0.1000000000000000055511151', reason: 'exact digits' },
    { template: '%f', value: new Double(-0), is: '0.000000', reason: 'no negative zero' },
    { template: '%.1f', value: -0.01, is: '-0.0', reason: 'but a sign for what rounds to it' },
    { template: '%f', value: Number.POSITIVE_INFINITY, is: '∞', reason: 'the sign of the locale' },
    { template: '%f', value: '-Infinity', is: '-∞', reason: 'the word for it' },
    { template: '%e', value: 12345.678, is: '1.234568×10⁰⁴', reason: 'a power in superscript' },
    { template: '%e', value: 5e-324, is: '4.940656×10⁻³²⁴', reason: 'the smallest double' },
    { template: '%e', value: 9.9999999, is: '1.000000×10⁰¹', reason: 'a carry raises the power' },
    { template: '%.20e', value: 1.5, is: '       1.500000×10⁰⁰', reason: 'the precision is taken for a width' },
    { template: '%e', value: Number.NaN, is: '   NaN', reason: 'six wide' },
    { template: '%d', value: -5, is: '-5', reason: 'an int' },
    { template: '%b', value: -5, is: '-101', reason: 'a sign, no complement' },
    { template: '%b', value: true, is: '1', reason: 'a bool' },
    { template: '%o', value: new Uint(9), is: '11', reason: 'octal' },
    { template: '%x', value: -255, is: '-ff', reason: 'hexadecimal' },
    { template: '%X', value: 'hé', is: '68C3A9', reason: 'the bytes of a string' },
    { template: '%.3d', value: 5, is: '5', reason: 'a precision that means nothing' },
  ])('$template of $reason', ({ template, value, is }) => expect(formatText(template, [value as Value])).toBe(is));

  it.each([
    { template: '%d', value: 1.5, reason: 'a double is no decimal integer' },
    { template: '%f', value: 1, reason: 'an int is no double' },
    { template: '%f', value: 'x', reason: 'a word for no number' },
    { template: '%b', value: 'x', reason: 'a string has no binary form' },
    { template: '%o', value: true, reason: 'a bool has no octal form' },
    { template: '%x', value: 1.5, reason: 'a double has no hexadecimal form' },
  ])('$template refuses: $reason', ({ template, value }) => {
    expect(formatText(template, [value as Value])).toMatchObject({ code: 'invalid_argument' });
  });
});

it.each([
  { template: '100%% of %s', args: ['x'], is: '100% of x', reason: 'two percent signs are one' },
  { template: '', args: [1], is: '', reason: 'more arguments than clauses' },
  { template: 'é%s😀', args: ['x'], is: 'éx😀', reason: 'text around' },
])('fills in $reason', ({ template, args, is }) => expect(formatText(template, args)).toBe(is));

it.each([
  { template: '%s %s', args: ['x'], reason: 'too few arguments' },
  { template: '%', args: ['x'], reason: 'a percent sign at the end' },
  { template: '%z', args: ['x'], reason: 'no such clause' },
  { template: '%.f', args: [1.5], reason: 'a precision without a number' },
  { template: '%.3', args: [1.5], reason: 'a precision and nothing after it' },
  { template: '%.99999999999f', args: [1.5], reason: 'a precision that no memory holds' },
])('refuses $reason', ({ template, args }) => {
  expect(formatText(template, args)).toMatchObject({ code: 'invalid_argument' });
});

describe('compile-time validation', () => {
  const place = { id: 0, offset: 0, start: 0, end: 0 };
  const literal = (value: Value): Expr => ({ ...place, kind: 'literal', value });
  const call = (template: string, types: readonly Type[]): { call: Call; typeOf: (node: Expr) => Type } => {
    const elements = types.map((_, id): Expr => ({ ...place, id, kind: 'identifier', name: 'x' }));
    const args: Expr = { ...place, kind: 'list', elements, optional: [] };
    return {
      call: { ...place, kind: 'call', function: 'format', target: literal(template), args: [args] },
      typeOf: (node) => types[node.id] ?? DYN,
    };
  };

  it.each([
    { template: '%s %d %f', types: [STRING, INT, DOUBLE], message: undefined, reason: 'all fits' },
    { template: '%d', types: [DYN], message: undefined, reason: 'dyn may be anything' },
    { template: '%f', types: [STRING], message: undefined, reason: 'a string may be a word for infinity' },
    { template: '%d', types: [STRING], message: 'decimal clause', reason: 'a string is no integer' },
    {
      template: '%s',
      types: [{ ...list(INT), kind: 'opaque', name: 'net.IP' } as Type],
      message: 'string clause',
      reason: 'an address has no text',
    },
    { template: '%s %s', types: [STRING], message: 'index 1 out of range', reason: 'an argument is missing' },
    { template: '%s', types: [STRING, INT], message: 'too many arguments', reason: 'an argument is left over' },
    { template: '%z', types: [STRING], message: 'unrecognized formatting clause', reason: 'no such clause' },
  ])('$reason', ({ template, types, message }) => {
    const checked = call(template, types);
    const problem = formatValidator.validate(checked.call, checked.typeOf);
    if (message === undefined) expect(problem).toBeUndefined();
    else expect(problem?.message).toContain(message);
  });

  it('checks elements of literal lists', () => {
    const inner: Expr = {
      ...place,
      id: 7,
      kind: 'list',
      elements: [{ ...place, id: 8, kind: 'identifier', name: 'q' }],
      optional: [],
    };
    const outer: Expr = { ...place, id: 9, kind: 'list', elements: [inner], optional: [] };
    const node: Call = { ...place, kind: 'call', function: 'format', target: literal('%s'), args: [outer] };
    const typeOf = (of: Expr): Type =>
      of.id === 8 ? { ...INT, kind: 'object', name: 'kubernetes.Quantity' } : list(DYN);
    expect(formatValidator.validate(node, typeOf)?.node).toMatchObject({ id: 8 });
  });
});
