/**
 * Does every value that a schema accepts meet one demand more? Restrictions of a schema hold together, so a change of one of them is
 * decided by asking this of the old schema and the new restriction: whatever fails the demand fails the new schema, whatever else it says.
 */
import type { CrdSchema } from '../schema.ts';

export type Answer =
  | { readonly answer: 'yes' }
  /** Values that the old schema seems to accept and that fail the demand; to be tried in a whole object. */
  | { readonly answer: 'no' | 'unknown'; readonly values: readonly unknown[] };

const YES: Answer = { answer: 'yes' };

export function demand(before: CrdSchema, wanted: CrdSchema): Answer {
  const sizes = sizeDemand(before, wanted);
  if (sizes !== undefined) return sizes;
  const bounds = boundDemand(before, wanted);
  if (bounds !== undefined) return bounds;
  if (Object.values(wanted).every((value) => value === undefined || value === false)) return YES;
  return { answer: 'unknown', values: before.enum ?? [] };
}

const lowerSizes = ['minLength', 'minItems', 'minProperties'] as const;
const upperSizes = ['maxLength', 'maxItems', 'maxProperties'] as const;

function sizeDemand(before: CrdSchema, wanted: CrdSchema): Answer | undefined {
  for (const name of lowerSizes) {
    if (!(name in wanted)) continue;
    return (wanted[name] ?? 0) <= (before[name] ?? 0) ? YES : { answer: 'unknown', values: [] };
  }
  for (const name of upperSizes) {
    if (!(name in wanted)) continue;
    return (wanted[name] ?? Number.POSITIVE_INFINITY) >= (before[name] ?? Number.POSITIVE_INFINITY)
      ? YES
      : { answer: 'unknown', values: [] };
  }
  return undefined;
}

function boundDemand(before: CrdSchema, wanted: CrdSchema): Answer | undefined {
  if ('minimum' in wanted) {
    const now = wanted.minimum;
    const old = before.minimum;
    if (now === undefined) return YES;
    const met =
      old !== undefined &&
      (old > now || (old === now && (before.exclusiveMinimum === true || wanted.exclusiveMinimum !== true)));
    return met ? YES : { answer: 'unknown', values: [now - 1, now] };
  }
  if ('maximum' in wanted) {
    const now = wanted.maximum;
    const old = before.maximum;
    if (now === undefined) return YES;
    const met =
      old !== undefined &&
      (old < now || (old === now && (before.exclusiveMaximum === true || wanted.exclusiveMaximum !== true)));
    return met ? YES : { answer: 'unknown', values: [now + 1, now] };
  }
  return undefined;
}
