/** Digests for drift detection. They cover only the fields that the broker sets: other fields belong to other field managers. */
import { createHash } from 'node:crypto';
import { stableJson } from '../record.ts';

/** `pick` reduces the actual value to the fields that the wanted value sets. A list of a different length is kept whole. */
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

/**
 * `digestOf` returns a digest to compare with an earlier one. It uses the values as the API server returned them, so that normalized
 * quantities are not mistaken for drift.
 */
export const digestOf = (actual: unknown, wanted: unknown): string =>
  createHash('sha256')
    .update(stableJson(pick(actual, wanted)))
    .digest('base64url')
    .slice(0, 22);

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
