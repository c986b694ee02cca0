/**
 * Decodes JSON text like Kubernetes: a whole number is an int if it fits int64, any other number a double. This is the
 * simple implementation; the faster one in src/cel is tested against it.
 */
import { double, INT_MAX, INT_MIN, type Value } from '../../../src/cel/index.ts';

export function parseJson(text: string): Value {
  return JSON.parse(text, revive) as Value;
}

function revive(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number') return value;
  const source = context?.source ?? String(value);
  if (!/^-?\d+$/.test(source)) return double(value);
  if (Number.isSafeInteger(value)) return value + 0;
  const whole = BigInt(source);
  return whole < INT_MIN || whole > INT_MAX ? double(value) : whole;
}
