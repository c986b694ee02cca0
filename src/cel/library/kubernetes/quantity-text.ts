/**
 * Parses and formats quantities such as `1.5G`, `200Ki`, `12e6` and `0.1` like resource.ParseQuantity of Kubernetes.
 */
import { type Amount, asInteger, compareAmounts, fitsInt64, narrow } from './amount.ts';

export type QuantityFormat = 'decimal' | 'binary' | 'exponent';

interface ParsedQuantity {
  readonly amount: Amount;
  readonly format: QuantityFormat;
}

const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG = "unable to parse quantity's suffix";
const NUMBER_WRONG = 'unable to parse numeric part of quantity';

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

const decimalSuffix = (exponent: number): Suffix => ({ base: 10, exponent, format: 'decimal' });
const binarySuffix = (exponent: number): Suffix => ({ base: 2, exponent, format: 'binary' });

const SUFFIXES: ReadonlyMap<string, Suffix> = new Map([
  ['', decimalSuffix(0)],
  ['n', decimalSuffix(-9)],
  ['u', decimalSuffix(-6)],
  ['m', decimalSuffix(-3)],
  ['k', decimalSuffix(3)],
  ['M', decimalSuffix(6)],
  ['G', decimalSuffix(9)],
  ['T', decimalSuffix(12)],
  ['P', decimalSuffix(15)],
  ['E', decimalSuffix(18)],
  ['Ki', binarySuffix(10)],
  ['Mi', binarySuffix(20)],
  ['Gi', binarySuffix(30)],
  ['Ti', binarySuffix(40)],
  ['Pi', binarySuffix(50)],
  ['Ei', binarySuffix(60)],
]);

/** `parseQuantity` returns the quantity, or an error text. */
export function parseQuantity(text: string): ParsedQuantity | string {
  if (text === '') return FORMAT_WRONG;
  const parts = split(text);
  if (parts === undefined) return FORMAT_WRONG;
  const suffix = interpretSuffix(parts.suffix);
  if (suffix === undefined) return SUFFIX_WRONG;
  return asInt64(parts, suffix) ?? asDecimal(parts, suffix);
}

interface Parts {
  readonly negative: boolean;
  /** The digits before the point without leading zeros, at least "0". */
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: string;
  /** Whether the text has any digit: `.` and `Mi` are zero on the int64 path, and invalid on the decimal path. */
  readonly hasDigit: boolean;
}

const SUFFIX_LETTERS = 'eEinumkKMGTP';

/** Parses the text in one pass: a regular expression would scan a long run of zeros repeatedly. */
function split(text: string): Parts | undefined {
  const first = text.charCodeAt(0);
  const signed = first === 0x2d || first === 0x2b;
  const start = signed ? 1 : 0;
  const wholeEnd = digitsFrom(text, start);
  const fractionStart = text.charCodeAt(wholeEnd) === 0x2e ? wholeEnd + 1 : wholeEnd;
  const fractionEnd = fractionStart > wholeEnd ? digitsFrom(text, fractionStart) : wholeEnd;
  let end = fractionEnd;
  while (end < text.length && SUFFIX_LETTERS.includes(text.charAt(end))) end++;
  if (text.charAt(end) === '-' || text.charAt(end) === '+') end++;
  if (digitsFrom(text, end) < text.length) return undefined;
  let significant = start;
  while (significant < wholeEnd && text.charCodeAt(significant) === 0x30) significant++;
  return {
    negative: first === 0x2d,
    whole: significant === wholeEnd ? '0' : text.slice(significant, wholeEnd),
    fraction: text.slice(fractionStart, fractionEnd),
    suffix: text.slice(fractionEnd),
    hasDigit: wholeEnd > start || fractionEnd > fractionStart,
  };
}

/** Returns the end of the run of digits from `start`. */
function digitsFrom(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) break;
    at++;
  }
  return at;
}

function interpretSuffix(text: string): Suffix | undefined {
  const known = SUFFIXES.get(text);
  if (known !== undefined) return known;
  const match = /^[eE]([+-]?[0-9]+)$/.exec(text);
  if (match === null) return undefined;
  const exponent = BigInt((match[1] as string).replace('+', ''));
  if (!fitsInt64(exponent)) return undefined;
  return { base: 10, exponent: Number(BigInt.asIntN(32, exponent)), format: 'exponent' };
}

const INT64_DIGITS = 18;
const NANO = -9;

/** Parses short numbers down to nano as an int64 and a power of ten. */
function asInt64({ negative, whole, fraction }: Parts, suffix: Suffix): ParsedQuantity | undefined {
  const binary = suffix.base === 2;
  const room = binary
    ? fraction === ''
      ? 15 - whole.length - (suffix.exponent * 3) / 10 - 1
      : -1
    : INT64_DIGITS - whole.length - fraction.length;
  if (room < 0) return undefined;
  const scale = (binary ? 0 : suffix.exponent) - fraction.length;
  if (scale < NANO) return undefined;
  const digits = whole + fraction;
  let unscaled: number | bigint = digits.length < 16 ? Number(digits) : narrow(BigInt(digits));
  if (binary) {
    const product = Number(unscaled) * 2 ** suffix.exponent;
    // Multiplying by a power of two is exact, so a safe product is correct.
    unscaled = Number.isSafeInteger(product) ? product : BigInt(unscaled) << BigInt(suffix.exponent);
    if (typeof unscaled === 'bigint' && !fitsInt64(unscaled)) return undefined;
  }
  if (negative && unscaled !== 0) unscaled = -unscaled;
  return { amount: { unscaled, scale, decimal: false }, format: suffix.format };
}

const MAX_ALLOWED: Amount = { unscaled: 2n ** 63n - 1n, scale: 0, decimal: true };
const ONE: Amount = { unscaled: 1, scale: 0, decimal: true };
/** Longer numbers are rejected; Kubernetes would compute for minutes on `1234567890123456789e1000000`. */
const MAX_DIGITS = 100_000;

/** Parses all other numbers as an exact decimal, rounded up to nano, with a maximum of 2^63 - 1 for binary suffixes. */
function asDecimal({ negative, whole, fraction, hasDigit }: Parts, suffix: Suffix): ParsedQuantity | string {
  if (!hasDigit) return NUMBER_WRONG;
  let unscaled = BigInt(whole + fraction);
  let scale = -fraction.length;
  if (suffix.base === 10) scale += suffix.exponent;
  else unscaled <<= BigInt(suffix.exponent);
  if (unscaled !== 0n) {
    if (scale - NANO > MAX_DIGITS) return `${NUMBER_WRONG}: it has more than ${MAX_DIGITS} digits`;
    unscaled = scale >= NANO ? unscaled * 10n ** BigInt(scale - NANO) : roundUp(unscaled, NANO - scale);
    scale = NANO;
  }
  let amount: Amount = { unscaled: narrow(unscaled), scale, decimal: true };
  let format = suffix.format;
  if (format === 'binary' && compareAmounts(amount, MAX_ALLOWED) > 0) amount = MAX_ALLOWED;
  if (format === 'binary' && unscaled > 0n && compareAmounts(amount, ONE) < 0) format = 'decimal';
  if (negative) amount = { ...amount, unscaled: narrow(-BigInt(amount.unscaled)) };
  return { amount, format };
}

/** Returns `value` / 10^places, rounded away from zero. */
function roundUp(value: bigint, places: number): bigint {
  if (places > value.toString().length) return 1n;
  const divisor = 10n ** BigInt(places);
  return (value + divisor - 1n) / divisor;
}

/** `formatQuantity` writes the canonical form: no fraction, and the largest suffix that leaves a whole number. */
export function formatQuantity({ amount, format }: ParsedQuantity): string {
  if (amount.unscaled === 0 || amount.unscaled === 0n) return '0';
  if (format === 'binary') {
    const value = asInteger({ ...amount, decimal: false });
    const large = value !== undefined && (value <= -1024n || value >= 1024n);
    if (large) return withSuffix(value, 1024n, (times) => [...SUFFIXES].find(isBinary(10 * times))?.[0] ?? '');
  }
  let { scale } = amount;
  let digits = BigInt(amount.unscaled);
  while (digits % 10n === 0n) {
    digits /= 10n;
    scale++;
  }
  while (scale % 3 !== 0) {
    digits *= 10n;
    scale--;
  }
  const named = format === 'exponent' ? undefined : [...SUFFIXES].find(isDecimal(scale))?.[0];
  return `${digits}${named ?? (scale === 0 ? '' : `e${scale}`)}`;
}

const isBinary =
  (exponent: number) =>
  ([, suffix]: readonly [string, Suffix]): boolean =>
    suffix.base === 2 && suffix.exponent === exponent;
const isDecimal =
  (exponent: number) =>
  ([, suffix]: readonly [string, Suffix]): boolean =>
    suffix.base === 10 && suffix.exponent === exponent;

function withSuffix(value: bigint, factor: bigint, name: (times: number) => string): string {
  let rest = value;
  let times = 0;
  while (times < 6 && rest % factor === 0n) {
    rest /= factor;
    times++;
  }
  return `${rest}${name(times)}`;
}
