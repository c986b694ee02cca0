/** Whole numbers, strings and bytes as Go's %d, %b, %o and %x write them: a minus sign, no complement. */
import { isInt, Uint, type Value } from '../values.ts';

/** Undefined, here and below, for what has no such form. */
export const wholeNumber = (value: Value): string | undefined => inBase(value, 10);

/** A bool is 1 or 0. */
export function binary(value: Value): string | undefined {
  return typeof value === 'boolean' ? String(Number(value)) : inBase(value, 2);
}

export const octal = (value: Value): string | undefined => inBase(value, 8);

/** Lower case; strings and bytes byte by byte. */
export function hexadecimal(value: Value): string | undefined {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return inBase(value, 16);
}

function inBase(value: Value, base: number): string | undefined {
  if (isInt(value)) return value.toString(base);
  return value instanceof Uint ? value.value.toString(base) : undefined;
}
