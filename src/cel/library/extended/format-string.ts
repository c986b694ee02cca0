/**
 * `format` as cel-go has it from version 4 of its strings extension on: no locale, the same text inside lists and
 * maps as outside, and %d, %f and %e for every number.
 */
import { mapEntries } from '../../map.ts';
import { compareText } from '../../text.ts';
import { formatDuration, formatFixed, formatTimestamp } from '../../time/text.ts';
import {
  CelError,
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
import {
  type Clause,
  type ClauseRule,
  fillIn,
  formattingFailure,
  STRING_RULE,
  templateValidator,
  type Verb,
} from '../format-clauses.ts';
import { binary, hexadecimal, octal } from '../integer-text.ts';

const DEFAULT_PRECISION = 6;
const LIMITS = { maxPrecision: 100 };

const numeric = (clause: string): ClauseRule => ({
  kinds: ['int', 'uint', 'double'],
  complaint: `${clause} clause can only be used on ints, uints, and doubles, was given `,
});
const hex: ClauseRule = {
  kinds: ['int', 'uint', 'string', 'bytes'],
  complaint: 'only ints, uints, bytes, and strings can be formatted as hex, was given ',
};

const RULES: Readonly<Record<Verb, ClauseRule>> = {
  s: STRING_RULE,
  d: numeric('decimal'),
  f: numeric('fixed-point'),
  e: numeric('scientific'),
  b: {
    kinds: ['int', 'uint', 'bool'],
    complaint: 'only ints, uints, and bools can be formatted as binary, was given ',
  },
  x: hex,
  X: hex,
  o: { kinds: ['int', 'uint'], complaint: 'octal clause can only be used on ints and uints, was given ' },
};

export const formatValidator = templateValidator(RULES, LIMITS);

export const formatText = (template: string, args: readonly Value[]): string | CelError =>
  fillIn(template, args, formatClause, LIMITS);

function formatClause(value: Value, { verb, precision = DEFAULT_PRECISION }: Clause): string | CelError {
  const text = clauseText(value, verb, precision);
  if (text instanceof CelError) return formattingFailure(text.message);
  return text ?? formattingFailure(`${RULES[verb].complaint}${typeOf(value).name}`);
}

function clauseText(value: Value, verb: Verb, precision: number): string | CelError | undefined {
  switch (verb) {
    case 's':
      return plainText(value);
    case 'd':
      return isInt(value) || value instanceof Uint ? wholeText(value) : numberText(value, decimal);
    case 'f':
      return numberText(value, (number) => fixedDecimal(number, precision));
    case 'e':
      return numberText(value, (number) => scientific(number, precision));
    case 'b':
      return binary(value);
    case 'x':
      return hexadecimal(value);
    case 'X':
      return hexadecimal(value)?.toUpperCase();
    case 'o':
      return octal(value);
  }
}

const wholeText = (value: number | bigint | Uint): string => String(value instanceof Uint ? value.value : value);
const decimal = (number: number): string => (Object.is(number, -0) ? '-0' : formatFixed(number));

/** Any number as a double; undefined for what is none. */
function numberText(value: Value, finite: (number: number) => string): string | undefined {
  const number = isInt(value) ? Number(value) : value instanceof Uint ? Number(value.value) : doubleOf(value);
  if (number === undefined) return undefined;
  return Number.isFinite(number) ? finite(number) : String(number);
}

function scientific(number: number, precision: number): string {
  const { mantissa, exponent } = scientificDecimal(number, precision);
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${Math.abs(exponent).toString().padStart(2, '0')}`;
}

/** An error names the type of what has no text, however deep it is. */
function plainText(value: Value): string | CelError {
  if (typeof value === 'string') return value;
  if (value === null || typeof value === 'boolean') return String(value);
  if (isInt(value) || value instanceof Uint) return wholeText(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return listText(value);
  if (isMap(value)) return mapText([...mapEntries(value)]);
  if (value instanceof Timestamp) return formatTimestamp(new Timestamp(value.seconds, value.nanos));
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  return (
    numberText(value, decimal) ?? new CelError('invalid_argument', `${STRING_RULE.complaint}${typeOf(value).name}`)
  );
}

function listText(list: readonly Value[]): string | CelError {
  const texts: string[] = [];
  for (const element of list) {
    const text = plainText(element);
    if (text instanceof CelError) return text;
    texts.push(text);
  }
  return `[${texts.join(', ')}]`;
}

function mapText(entries: readonly (readonly [Value, Value])[]): string | CelError {
  const texts: { key: string; value: string }[] = [];
  for (const entry of entries) {
    const key = plainText(entry[0]);
    if (key instanceof CelError) return key;
    const value = plainText(entry[1]);
    if (value instanceof CelError) return value;
    texts.push({ key, value });
  }
  texts.sort((left, right) => compareText(left.key, right.key));
  return `{${texts.map(({ key, value }) => `${key}: ${value}`).join(', ')}}`;
}
