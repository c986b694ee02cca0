/** Whether a thing is still as it was made, in the fields that were set: what others set beside them is theirs. */
import { createHash } from 'node:crypto';
import { stableJson } from '../record.ts';

/** Of the actual value, what the wanted one speaks of. A list of another length is taken whole. */
export function pick(actual: unknown, wanted: unknown): unknown {
  if (Array.isArray(wanted) && Array.isArray(actual)) {
    return actual.length === wanted.length ? actual.map((each, index) => pick(each, wanted[index])) : actual;
  }
  if (!isFields(wanted) || !isFields(actual)) return actual;
  return Object.fromEntries(
    Object.keys(wanted)
      .filter((key) => key in actual)
      .map((key) => [key, pick(actual[key], wanted[key])]),
  );
}

/** Compared with one of an earlier time: values as the API server gave them, so that how it writes an amount does not matter. */
export const digestOf = (actual: unknown, wanted: unknown): string =>
  createHash('sha256')
    .update(stableJson(pick(actual, wanted)))
    .digest('base64url')
    .slice(0, 22);

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
