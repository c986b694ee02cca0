/**
 * `format` of cel-go from version 4 of its strings extension on: no locale, the same text inside and outside lists and
 * maps, and %d, %f and %e for every number.
 */
import { formatDuration, formatFixed, formatTimestamp } from '../../time/text.ts';
import {
  type CelError,
  Duration,
  doubleOf,
  isInt,
  isMap,
  Timestamp,
  TypeValue,
  typeOf,
  Uint,
  type Value,
} from '../../values.ts';
import { fixedDecimal, scientificDecimal } from '../decimal-text.ts';
import { type ClauseRule, formattingFailure, STRING_RULE } from '../format-clauses.ts';
import { formatIn, listText, mapText } from '../format-text.ts';
import { wholeNumber } from '../integer-text.ts';

const numeric = (clause: string): ClauseRule => ({
  kinds: ['int', 'uint', 'double'],
  complaint: `${clause} clause can only be used on ints, uints, and doubles, was given `,
});

export const format = formatIn({
  limits: { maxPrecision: 100 },
  rules: {
    d: numeric('decimal'),
    f: numeric('fixed-point'),
    e: numeric('scientific'),
    b: {
      kinds: ['int', 'uint', 'bool'],
      complaint: 'only ints, uints, and bools can be formatted as binary, was given ',
    },
    x: {
      kinds: ['int', 'uint', 'string', 'bytes'],
      complaint: 'only ints, uints, bytes, and strings can be formatted as hex, was given ',
    },
    o: { kinds: ['int', 'uint'], complaint: 'octal clause can only be used on ints and uints, was given ' },
  },
  text: plainText,
  decimal: (value) => wholeNumber(value) ?? numberText(value, decimal),
  fixedPoint: (value, precision) => numberText(value, (number) => fixedDecimal(number, precision)),
  scientific: (value, precision) => numberText(value, (number) => scientific(number, precision)),
});

const decimal = (number: number): string => (Object.is(number, -0) ? '-0' : formatFixed(number));

/** Formats any number as a double; undefined for other values. */
function numberText(value: Value, finite: (number: number) => string): string | undefined {
  const number = isInt(value) ? Number(value) : value instanceof Uint ? Number(value.value) : doubleOf(value);
  if (number === undefined) return undefined;
  return Number.isFinite(number) ? finite(number) : String(number);
}

function scientific(number: number, precision: number): string {
  const { mantissa, exponent } = scientificDecimal(number, precision);
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${Math.abs(exponent).toString().padStart(2, '0')}`;
}

/** Returns the text of a value. An error names the type of the nested value that has no text. */
function plainText(value: Value): string | CelError {
  if (typeof value === 'string') return value;
  if (value === null || typeof value === 'boolean') return String(value);
  const whole = wholeNumber(value);
  if (whole !== undefined) return whole;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return listText(value, plainText);
  if (isMap(value)) return mapText(value, ': ', plainText);
  if (value instanceof Timestamp) return formatTimestamp(new Timestamp(value.seconds, value.nanos));
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  return numberText(value, decimal) ?? formattingFailure(`${STRING_RULE.complaint}${typeOf(value).name}`);
}
