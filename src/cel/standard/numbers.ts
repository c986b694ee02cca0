/** Parses and formats numbers like Go. */
import { CelError, double, INT_MAX, INT_MIN, int, UINT_MAX, type Uint, uint, type Value } from '../values.ts';

export function parseInt64(text: string): number | bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  if (text.length < 16) return Number(text) + 0;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value < INT_MIN || value > INT_MAX ? undefined : (int(value) as number | bigint);
}

export function parseUint64(text: string): Uint | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value > UINT_MAX ? undefined : (uint(value) as Uint);
}

const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const HEXADECIMAL = /^([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?[pP]([+-]?[0-9]+)$/;
const WORD = /^([+-]?)(?:(inf|infinity)|nan)$/i;

/** `parseDouble` is Go's ParseFloat; an overflow is invalid. Single underscores are allowed between digits. */
export function parseDouble(written: string): Value | undefined {
  const text = written.includes('_') ? written.replace(/(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])/g, '') : written;
  if (DECIMAL.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? double(value) : undefined;
  }
  const word = WORD.exec(text);
  if (word !== null) {
    if (word[2] === undefined) return word[1] === '' ? Number.NaN : undefined;
    return word[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  const hex = HEXADECIMAL.exec(text);
  if (hex === null) return undefined;
  const [, sign = '', whole = '', fraction = '', power = ''] = hex;
  if (whole + fraction === '') return undefined;
  const value = Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(power) - 4 * fraction.length);
  return Number.isFinite(value) ? double(sign === '-' ? -value : value) : undefined;
}

/** `formatDouble` is Go's `%g`: the shortest digits, with an exponent below 1e-4 and from 1e6 on. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', power = '0'] = value.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

export function doubleToInt(value: number): number | bigint | CelError {
  if (!Number.isFinite(value) || value <= -(2 ** 63) || value >= 2 ** 63) {
    return new CelError('overflow', 'integer overflow');
  }
  return int(BigInt(Math.trunc(value)));
}

export function doubleToUint(value: number): Uint | CelError {
  if (!Number.isFinite(value) || value < 0 || value >= 2 ** 64) {
    return new CelError('overflow', 'unsigned integer overflow');
  }
  return uint(BigInt(Math.trunc(value)));
}
