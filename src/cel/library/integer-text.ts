/** Formats whole numbers, strings and bytes like Go's %d, %b, %o and %x: with a minus sign, not as complement. */
import { isInt, Uint, type Value } from '../values.ts';

/**
 * `wholeNumber` formats an integer in base 10. Like the functions below, it returns undefined for unsupported types.
 */
export const wholeNumber = (value: Value): string | undefined => inBase(value, 10);

/** `binary` formats an integer in base 2; a bool is 1 or 0. */
export function binary(value: Value): string | undefined {
  return typeof value === 'boolean' ? String(Number(value)) : inBase(value, 2);
}

export const octal = (value: Value): string | undefined => inBase(value, 8);

/** `hexadecimal` formats an integer in lower case; strings and bytes are encoded byte by byte. */
export function hexadecimal(value: Value): string | undefined {
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return inBase(value, 16);
}

function inBase(value: Value, base: number): string | undefined {
  if (isInt(value)) return value.toString(base);
  return value instanceof Uint ? value.value.toString(base) : undefined;
}
