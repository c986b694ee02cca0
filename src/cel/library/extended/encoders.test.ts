import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CelMap, Double, Duration, Optional, StructValue, Timestamp, Uint, type Value } from '../../values.ts';
import { Quantity } from '../kubernetes/quantity.ts';
import { caller, costOf } from '../support/overloads.ts';
import { encoders } from './encoders.ts';

const call = caller(encoders);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('base64', () => {
  it.each([
    { text: 'aGVsbG8=', is: 'hello', reason: 'padded' },
    { text: 'aGVsbG8', is: 'hello', reason: 'not padded' },
    { text: 'aGVs\r\nbG8=', is: 'hello', reason: 'line breaks are skipped' },
    { text: '', is: '', reason: 'nothing' },
  ])('decodes $reason', ({ text, is }) => expect(call('base64_decode_string', text)).toEqual(bytes(is)));

  it.each([
    { text: 'a', reason: 'one digit is less than a byte' },
    { text: 'aGVs bG8=', reason: 'a blank' },
    { text: 'a-_b', reason: 'the URL alphabet' },
    { text: 'aGVsbG8=x', reason: 'something after the padding' },
    { text: 'ab=', reason: 'half a padding' },
  ])('refuses $reason', ({ text }) => {
    expect(call('base64_decode_string', text)).toMatchObject({ code: 'invalid_argument' });
  });

  it('encodes and decodes like Buffer', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (value) => {
        const text = call('base64_encode_bytes', value);
        expect(text).toBe(Buffer.from(value).toString('base64'));
        expect(call('base64_decode_string', text as string)).toEqual(value);
      }),
    );
  });

  it('charges a tenth of the size plus one for the call', () => {
    expect(costOf([encoders], 'base64_encode_bytes', bytes('a'.repeat(11)))).toBe(3);
  });
});

describe('json.encode', () => {
  it.each([
    {
      value: { b: [1, 1.5, null], a: '<é\u2028' },
      is: '{"a":"\\u003cé\\u2028","b":[1,1.5,null]}',
      reason: 'keys in order, and what Go escapes',
    },
    { value: 9007199254740993n, is: '"9007199254740993"', reason: 'a number JSON would lose is a string' },
    { value: new Uint(7), is: '7', reason: 'a uint' },
    { value: new Double(1), is: '1', reason: 'a whole double' },
    { value: bytes('hi'), is: '"aGk="', reason: 'bytes' },
    { value: new Duration(1_500_000_000n), is: '"1.5s"', reason: 'a duration' },
    { value: new Timestamp(0, 0), is: '"1970-01-01T00:00:00Z"', reason: 'a time' },
    {
      value: new CelMap([
        [1, 'a'],
        [true, 'b'],
      ]),
      is: '{"1":"a","true":"b"}',
      reason: 'keys become strings',
    },
    { value: new StructValue('Object', { a: 1 }), is: '{"a":1}', reason: 'an object' },
    { value: new Optional(1), is: '1', reason: 'what an optional holds' },
  ])('writes $reason', ({ value, is }) => expect(call('json_encode_dyn', value as Value)).toBe(is));

  it.each([
    { value: Number.NaN, code: 'invalid_argument', reason: 'NaN' },
    {
      value: new Quantity({ unscaled: 1, scale: 0, decimal: false }, 'decimal', false),
      code: 'invalid_argument',
      reason: 'a quantity',
    },
    {
      value: Array.from({ length: 1000 }).reduce<Value>((inner) => [inner], 1),
      code: 'too_deep',
      reason: 'a thousand lists',
    },
  ])('refuses $reason', ({ value, code }) => expect(call('json_encode_dyn', [value])).toMatchObject({ code }));

  it('round-trips through JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        fc.pre(!JSON.stringify(value).includes('-0'));
        const text = call('json_encode_dyn', value as Value) as string;
        expect(JSON.parse(text)).toEqual(
          JSON.parse(JSON.stringify(value), (_, each) => (typeof each === 'string' ? each.toWellFormed() : each)),
        );
      }),
    );
  });
});

describe('base64 for URLs', () => {
  it.each([
    { text: '____', is: [255, 255, 255], reason: 'its own alphabet' },
    { text: 'aGVsbG8', is: [...bytes('hello')], reason: 'not padded' },
  ])('decodes $reason', ({ text, is }) => expect(call('base64_decode_url_string', text)).toEqual(new Uint8Array(is)));

  it('rejects the standard alphabet', () => {
    expect(call('base64_decode_url_string', '////')).toMatchObject({ code: 'invalid_argument' });
  });

  it('encodes with padding', () => {
    expect(call('base64_encode_url_bytes', new Uint8Array([255, 239]))).toBe('_-8=');
  });
});

describe('json.parse', () => {
  it.each([
    { text: '{"a": [1, 1.0]}', is: { a: [1, new Double(1)] }, reason: 'an object, with distinct ints and doubles' },
    { text: 'null', is: null, reason: 'null' },
  ])('reads $reason', ({ text, is }) => expect(call('json_parse_string', text)).toEqual(new Optional(is)));

  it('returns an empty optional for invalid JSON', () => {
    expect(call('json_parse_string', '{')).toEqual(Optional.none);
  });
});
