import { describe, expect, test } from 'vitest';
import { compare, equal } from './compare.ts';
import { mapGet, mapOf } from './map.ts';
import { formatDouble, parseDouble, parseInt64, parseUint64 } from './standard/numbers.ts';
import { codePoints, compareText, unitIndex } from './text.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from './time/text.ts';
import { fieldsIn } from './time/zones.ts';
import {
  CelError,
  CelMap,
  Double,
  Duration,
  double,
  int,
  Optional,
  Timestamp,
  typeOf,
  Uint,
  uint,
  type Value,
} from './values.ts';

describe('numbers', () => {
  test.each([
    { reason: 'ints are exact past 2^53', left: 9007199254740993n, right: 9007199254740992n, same: false },
    { reason: 'an int and a whole double', left: 1, right: new Double(1), same: true },
    { reason: 'an int and a uint', left: 1, right: new Uint(1), same: true },
    { reason: 'a uint past int64', left: 9223372036854775807n, right: new Uint(9223372036854775808n), same: false },
    { reason: 'an int64 and the double nearest to it', left: 9223372036854775807n, right: 2 ** 63, same: true },
    { reason: 'NaN', left: Number.NaN, right: Number.NaN, same: false },
    { reason: 'the zeros', left: 0, right: new Double(-0), same: true },
    { reason: 'a number and its text', left: 1, right: '1', same: false },
    { reason: 'true and 1', left: true, right: 1, same: false },
  ])('$reason', ({ left, right, same }) => {
    expect([equal(left, right), equal(right, left)]).toEqual([same, same]);
    if (typeof left === 'number' && Number.isNaN(left)) expect(compare(left, right)).toBeInstanceOf(CelError);
  });

  test('a double is boxed only if the bare number would be an int', () => {
    expect([double(1.5), double(1), int(5n), int(2n ** 60n), uint(7n)]).toEqual([
      1.5,
      new Double(1),
      5,
      2n ** 60n,
      new Uint(7),
    ]);
    expect(int(2n ** 63n)).toMatchObject({ code: 'overflow' });
    expect(uint(-1n)).toMatchObject({ code: 'overflow' });
    expect([1, 1.5, 2n ** 60n, new Double(1)].map((each) => typeOf(each).name)).toEqual([
      'int',
      'double',
      'int',
      'double',
    ]);
  });

  // What Go's strconv and fmt say.
  test.each([
    { value: 1e6, text: '1e+06' },
    { value: 100000, text: '100000' },
    { value: 123456789.5, text: '1.234567895e+08' },
    { value: 0.0001, text: '0.0001' },
    { value: 0.00001, text: '1e-05' },
    { value: Number.POSITIVE_INFINITY, text: '+Inf' },
    { value: -0, text: '-0' },
  ])('$value is written $text', ({ value, text }) => {
    expect(formatDouble(value)).toBe(text);
  });

  test.each([
    { text: '12', value: 12 },
    { text: '+12', value: 12 },
    { text: '-9223372036854775808', value: -9223372036854775808n },
    { text: '9223372036854775808', value: undefined },
    { text: '1_000', value: undefined },
    { text: '', value: undefined },
  ])('the int "$text"', ({ text, value }) => {
    expect(parseInt64(text)).toEqual(value);
  });

  test.each([
    { text: '1_000.5', value: 1000.5 },
    { text: 'inf', value: Number.POSITIVE_INFINITY },
    { text: '-Infinity', value: Number.NEGATIVE_INFINITY },
    { text: '0x1p-2', value: 0.25 },
    { text: '1e999', value: undefined },
    { text: '.', value: undefined },
  ])('the double "$text"', ({ text, value }) => {
    expect(parseDouble(text)).toEqual(value);
  });

  test('uints have no sign', () => {
    expect([parseUint64('18446744073709551615'), parseUint64('-1'), parseUint64('+1')]).toEqual([
      new Uint(18446744073709551615n),
      undefined,
      undefined,
    ]);
  });
});

describe('maps', () => {
  test('keys that are equal find the same entry', () => {
    const map = mapOf([
      [1, 'one'],
      [new Uint(2), 'two'],
      [true, 'yes'],
    ]) as CelMap;
    expect([mapGet(map, new Uint(1)), mapGet(map, new Double(2)), mapGet(map, true), mapGet(map, '1')]).toEqual([
      'one',
      'two',
      'yes',
      undefined,
    ]);
  });

  test('an object and a map with the same entries are equal', () => {
    expect(equal({ a: 1 }, new CelMap([['a', 1]]))).toBe(true);
    expect(equal({ a: 1 }, { a: 1, b: 2 })).toBe(false);
  });

  test('optionals, times and nested data', () => {
    const pairs: [Value, Value, boolean][] = [
      [new Optional(1), new Optional(new Double(1)), true],
      [Optional.none, new Optional(null), false],
      [new Timestamp(1, 0, 3600), new Timestamp(1, 0), true],
      [[{ a: [1] }], [{ a: [new Uint(1)] }], true],
    ];
    for (const [left, right, same] of pairs) expect(equal(left, right)).toBe(same);
  });
});

describe('text', () => {
  test('counts and orders code points', () => {
    expect([codePoints('héllo'), codePoints('😀a'), codePoints('\ud800')]).toEqual([5, 2, 1]);
    expect(unitIndex('😀a', 1)).toBe(2);
    expect(compareText('\uffff', '😀')).toBeLessThan(0);
    expect(compareText('a', 'ab')).toBeLessThan(0);
  });
});

describe('times', () => {
  test.each([
    { text: '1h30m', nanoseconds: 5_400_000_000_000n, written: '5400s' },
    { text: '-1.5s', nanoseconds: -1_500_000_000n, written: '-1.5s' },
    { text: '1us', nanoseconds: 1000n, written: '0.000001s' },
    { text: '0', nanoseconds: 0n, written: '0s' },
  ])('the duration $text', ({ text, nanoseconds, written }) => {
    const duration = parseDuration(text);
    expect(duration).toEqual(new Duration(nanoseconds));
    expect(duration && formatDuration(duration)).toBe(written);
  });

  test.each(['', '1', 'h', '1x', '1h 2m', '300000000h', '--1s'])('"%s" is no duration', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  test.each([
    { text: '2024-02-29T12:00:00.5Z', written: '2024-02-29T12:00:00.5Z' },
    { text: '2024-01-01T00:00:00+02:00', written: '2024-01-01T00:00:00+02:00' },
    { text: '0001-01-01T00:00:00Z', written: '0001-01-01T00:00:00Z' },
    { text: '9999-12-31T23:59:59.999999999Z', written: '9999-12-31T23:59:59.999999999Z' },
  ])('the timestamp $text', ({ text, written }) => {
    const time = parseTimestamp(text);
    expect(time instanceof Timestamp && formatTimestamp(time)).toBe(written);
  });

  test.each([
    '2023-02-29T00:00:00Z',
    '2024-01-01',
    '2024-13-01T00:00:00Z',
    '2024-01-01T24:00:00Z',
  ])('%s is no timestamp', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  test.each([
    { zone: 'America/Los_Angeles', hour: 15 },
    { zone: '-08:00', hour: 15 },
    { zone: '05:30', hour: 5 },
    { zone: 'UTC', hour: 23 },
    { zone: 'Asia/Kathmandu', hour: 5 },
  ])('the hour in $zone', ({ zone, hour }) => {
    const time = parseTimestamp('2023-12-31T23:45:00Z') as Timestamp;
    expect(fieldsIn(time, zone)).toMatchObject({ hour });
  });

  test('a zone that does not exist is an error', () => {
    expect(fieldsIn(new Timestamp(0, 0), 'Mars/Olympus')).toBeInstanceOf(CelError);
  });
});
