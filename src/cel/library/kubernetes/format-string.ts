/**
 * `format` of cel-go up to version 3 of its strings extension: %f and %e use the locale en_US, with commas between
 * thousands and superscript powers of ten, and elements of lists are written as CEL literals.
 */
import { formatDouble } from '../../standard/numbers.ts';
import { formatDuration, formatTimestamp } from '../../time/text.ts';
import { CelError, Duration, doubleOf, isMap, Timestamp, TypeValue, typeOf, type Value } from '../../values.ts';
import { fixedDecimal, scientificDecimal } from '../decimal-text.ts';
import { formattingFailure } from '../format-clauses.ts';
import { DEFAULT_PRECISION, formatIn, listText, mapText } from '../format-text.ts';
import { quote } from '../go-text.ts';
import { wholeNumber } from '../integer-text.ts';

export const format = formatIn({
  rules: {
    d: { kinds: ['int', 'uint'], complaint: 'decimal clause can only be used on integers, was given ' },
    f: { kinds: ['double', 'string'], complaint: 'fixed-point clause can only be used on doubles, was given ' },
    e: { kinds: ['double', 'string'], complaint: 'scientific clause can only be used on doubles, was given ' },
    b: {
      kinds: ['int', 'uint', 'bool'],
      complaint: 'only integers and bools can be formatted as binary, was given ',
    },
    x: {
      kinds: ['int', 'uint', 'string', 'bytes'],
      complaint: 'only integers, byte buffers, and strings can be formatted as hex, was given ',
    },
    o: { kinds: ['int', 'uint'], complaint: 'octal clause can only be used on integers, was given ' },
  },
  text: plainText,
  decimal: wholeNumber,
  fixedPoint: (value, precision) => localized(value, (number) => grouped(fixedDecimal(number, precision))),
  // cel-go passes the precision as the width: six decimal places, padded with leading blanks.
  scientific: (value, precision) => localized(value, scientific)?.padStart(precision),
});

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Formats %s; undefined for a value without a text form. */
function plainText(value: Value): string | CelError | undefined {
  if (typeof value === 'string') return value;
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  const whole = wholeNumber(value);
  if (whole !== undefined) return whole;
  const number = doubleOf(value);
  if (number !== undefined) return formatDouble(number);
  if (Array.isArray(value)) return listText(value, literalText);
  if (isMap(value)) return mapText(value, ':', literalText);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (!(value instanceof Uint8Array)) return undefined;
  try {
    return utf8.decode(value);
  } catch {
    return formattingFailure('could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string');
  }
}

/** Formats a value inside a list or map as a literal. */
function literalText(value: Value): string | CelError {
  const number = doubleOf(value);
  if (number !== undefined) {
    if (Number.isFinite(number)) return fixedDecimal(number, DEFAULT_PRECISION);
    return quote(formatDouble(number));
  }
  const text = plainText(value);
  if (text === undefined) return formattingFailure(`no formatting function for ${typeOf(value).name}`);
  if (text instanceof CelError) return text;
  if (typeof value === 'string') return quote(text);
  if (value instanceof Uint8Array) return `b${quote(text)}`;
  if (value instanceof Timestamp) return `timestamp(${quote(text)})`;
  return value instanceof Duration ? `duration(${quote(text)})` : text;
}

const NOT_FINITE: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

/** Formats a double, or one of the three texts for NaN and the infinities. */
function localized(value: Value, finite: (number: number) => string): string | undefined {
  const number = typeof value === 'string' && Object.hasOwn(NOT_FINITE, value) ? NOT_FINITE[value] : doubleOf(value);
  if (number === undefined) return undefined;
  if (Number.isNaN(number)) return 'NaN';
  if (!Number.isFinite(number)) return number > 0 ? '∞' : '-∞';
  // The printer of the locale has no negative zero.
  return finite(number === 0 ? 0 : number);
}

function grouped(text: string): string {
  const point = text.indexOf('.');
  const whole = point < 0 ? text : text.slice(0, point);
  return whole.replace(/\B(?=(?:\d{3})+$)/g, ',') + (point < 0 ? '' : text.slice(point));
}

const SUPERSCRIPT = '⁰¹²³⁴⁵⁶⁷⁸⁹';

function scientific(number: number): string {
  const { mantissa, exponent } = scientificDecimal(number, DEFAULT_PRECISION);
  const digits = Math.abs(exponent).toString().padStart(2, '0');
  const power = digits.replace(/\d/g, (digit) => SUPERSCRIPT.charAt(Number(digit)));
  return `${mantissa}×10${exponent < 0 ? '⁻' : ''}${power}`;
}
