/**
 * JSON numbers as Go's decoder passes them to the API server: integers that fit are int64, the others float64.
 * Conversions between the two behave as on amd64 and arm64 processors. The validator follows these rules, including the
 * odd ones.
 */
import { canonical } from '../canonical.ts';
import { isObject } from '../json.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export { isObject };

/** A structured clone would take many times as long. */
export function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copied(each)])) : value;
}

export const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

const INT64_LIMIT = 2 ** 63;

/** Whether the API server holds a number as an int64. */
export const isInt64 = (value: unknown): value is number | bigint =>
  typeof value === 'number'
    ? Number.isInteger(value) && value >= -INT64_LIMIT && value < INT64_LIMIT
    : typeof value === 'bigint' && BigInt.asIntN(64, value) === value;

/** Go's int64(number): truncates towards zero; a number that does not fit becomes the smallest int64. */
export function toInt64(number: number): number {
  const whole = Math.trunc(number);
  return whole >= -INT64_LIMIT && whole < INT64_LIMIT ? whole : -INT64_LIMIT;
}

const EPSILON = 1e-9;

/** Whether a float64 counts as an integer: within a relative error of 1e-9, if it is positive. */
export function passesForInteger(number: number): boolean {
  if (!(Math.abs(number) <= Number.MAX_SAFE_INTEGER)) return false;
  const whole = Math.trunc(number);
  if (number === whole) return true;
  if (number < 1) return false;
  return (number - whole) / (number + whole) < EPSILON;
}

type JsonType = 'object' | 'array' | 'string' | 'boolean' | 'integer' | 'number' | 'null';

export function typeOf(value: unknown): JsonType {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'number':
    case 'bigint':
      return isInt64(value) ? 'integer' : 'number';
    default:
      if (value === null || value === undefined) return 'null';
      return Array.isArray(value) ? 'array' : 'object';
  }
}

/** The number of Unicode code points, which length limits count. */
export function textLength(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00) {
      const next = text.charCodeAt(index + 1);
      if (next >= 0xdc00 && next < 0xe000) count--;
    }
  }
  return count;
}

/** `shown` formats a value for messages: as JSON, shortened. */
export function shown(value: unknown): string {
  const text = canonical(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
