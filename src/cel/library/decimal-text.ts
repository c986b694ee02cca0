/**
 * Formats doubles as decimal text, correctly rounded from their exact value with ties to even, like Go's strconv.
 * JavaScript's toFixed rounds ties up, stops at 100 digits and switches to exponents at 1e21.
 */

/** `fixedDecimal` is strconv.FormatFloat(value, 'f', digits, 64) for a finite number. */
export function fixedDecimal(value: number, digits: number): string {
  const { negative, mantissa, exponent } = parts(value);
  const scaled = mantissa * 10n ** BigInt(digits);
  const rounded = exponent >= 0 ? scaled << BigInt(exponent) : shiftRightToEven(scaled, BigInt(-exponent));
  const text = rounded.toString().padStart(digits + 1, '0');
  const whole = text.slice(0, text.length - digits);
  return `${negative ? '-' : ''}${whole}${digits > 0 ? `.${text.slice(text.length - digits)}` : ''}`;
}

/** Returns sign, digits and exponent of `value` rounded to `digits` decimal places: 1234.5, 2 → 1.23 and 3. */
export function scientificDecimal(value: number, digits: number): { mantissa: string; exponent: number } {
  if (value === 0) {
    return {
      mantissa: `${Object.is(value, -0) ? '-' : ''}0${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`,
      exponent: 0,
    };
  }
  const { negative, mantissa, exponent } = parts(value);
  let power = Math.floor(Math.log10(Math.abs(value)));
  let text = roundedAt(mantissa, exponent, digits - power);
  // log10 may be off by one next to a power of ten, and rounding may carry into one more digit.
  if (text.length > digits + 1) text = roundedAt(mantissa, exponent, digits - ++power);
  else if (text.length < digits + 1) text = roundedAt(mantissa, exponent, digits - --power);
  if (text.length > digits + 1) {
    text = text.slice(0, digits + 1);
    power++;
  }
  const fraction = digits > 0 ? `.${text.slice(1)}` : '';
  return { mantissa: `${negative ? '-' : ''}${text.charAt(0)}${fraction}`, exponent: power };
}

/** Returns the digits of `value` × 10^shift, rounded. */
function roundedAt(mantissa: bigint, exponent: number, shift: number): string {
  let numerator = mantissa;
  let denominator = 1n;
  if (shift >= 0) numerator *= 10n ** BigInt(shift);
  else denominator *= 10n ** BigInt(-shift);
  if (exponent >= 0) numerator <<= BigInt(exponent);
  else denominator <<= BigInt(-exponent);
  const quotient = numerator / denominator;
  const twice = 2n * (numerator % denominator);
  const up = twice > denominator || (twice === denominator && (quotient & 1n) === 1n);
  return (up ? quotient + 1n : quotient).toString();
}

function shiftRightToEven(value: bigint, bits: bigint): bigint {
  const quotient = value >> bits;
  const remainder = value - (quotient << bits);
  const half = 1n << (bits - 1n);
  const up = remainder > half || (remainder === half && (quotient & 1n) === 1n);
  return up ? quotient + 1n : quotient;
}

const buffer = new DataView(new ArrayBuffer(8));

/** Splits a number exactly: |value| = mantissa × 2^exponent. */
function parts(value: number): { negative: boolean; mantissa: bigint; exponent: number } {
  buffer.setFloat64(0, value);
  const bits = buffer.getBigUint64(0);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  return {
    negative: bits >> 63n === 1n,
    mantissa: biased === 0 ? fraction : fraction | 0x10000000000000n,
    exponent: (biased === 0 ? 1 : biased) - 1075,
  };
}
