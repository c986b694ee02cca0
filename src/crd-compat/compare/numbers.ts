/**
 * Constraints on numbers. All numbers between two neighbouring bounds behave alike, so it suffices to test every bound, its neighbours and
 * one point in between; with `multipleOf`, the multiples next to the bounds.
 */
import { validator } from '../instance/index.ts';
import type { CrdSchema } from '../schema.ts';
import { type Answer, YES } from './answer.ts';

export function checkNumbers(before: CrdSchema, constraint: CrdSchema): Answer {
  const whole = before.type !== 'number';
  const type = whole ? 'integer' : 'number';
  const { 'x-kubernetes-int-or-string': _, 'x-kubernetes-validations': _rules, ...rest } = before;
  const allowed = validator({ ...rest, type }, { resource: false });
  const asked = validator({ ...constraint, type }, { resource: false });
  const failing = points(before, constraint, whole).filter(
    (value) => allowed.validate(value).length === 0 && asked.validate(value).length > 0,
  );
  if (failing.length > 0) return { answer: 'no', values: failing.sort(plainest(constraint)).slice(0, 6) };
  return isCovered(before, constraint, whole) ? YES : { answer: 'unknown', values: [] };
}

/** Sorts integers and numbers next to the bound first: they are the best examples. */
const plainest = (constraint: CrdSchema) => {
  const bound = constraint.minimum ?? constraint.maximum ?? 0;
  return (left: number, right: number): number =>
    Number(!Number.isInteger(left)) - Number(!Number.isInteger(right)) ||
    Math.abs(left - bound) - Math.abs(right - bound) ||
    left - right;
};

/** Whether the tested points decide the constraint: the multiples of a new `multipleOf` may lie between them. */
function isCovered(before: CrdSchema, constraint: CrdSchema, whole: boolean): boolean {
  const steps = [
    ...constants(constraint, 'multipleOf'),
    ...constants({ ...before, multipleOf: undefined } as unknown as CrdSchema, 'multipleOf'),
  ];
  if (steps.length === 0) return true;
  const own = before.multipleOf ?? (whole ? 1 : undefined);
  return own !== undefined && steps.every((step) => Number.isInteger(own / step));
}

const bounds = ['minimum', 'maximum', 'multipleOf', 'enum'] as const;

function constants(schema: CrdSchema, only?: (typeof bounds)[number]): number[] {
  const own = bounds
    .filter((name) => only === undefined || name === only)
    .flatMap((name) => schema[name] ?? [])
    .filter((value): value is number => typeof value === 'number');
  const inside = [
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.not === undefined ? [] : [schema.not]),
  ];
  return [...own, ...inside.flatMap((branch) => constants(branch, only))];
}

const FORMAT_BOUNDS = [-(2 ** 31), 2 ** 31 - 1, 2 ** 32 - 1];

function points(before: CrdSchema, constraint: CrdSchema, whole: boolean): number[] {
  const known = new Set([0, ...constants(before), ...constants(constraint)]);
  if (before.format !== undefined || constraint.format !== undefined)
    for (const bound of FORMAT_BOUNDS) known.add(bound);
  const sorted = [...known].sort((left, right) => left - right);
  const found = new Set<number>();
  const steps = [1, ...constants(before, 'multipleOf')].filter((step) => step > 0);
  for (const [index, point] of sorted.entries()) {
    for (const step of steps) {
      const near = Math.floor(point / step) * step;
      for (const value of [near - step, near, near + step, near + 2 * step]) found.add(value);
    }
    found.add(point);
    if (whole) continue;
    const next = sorted[index + 1] ?? point + 1;
    const gap = Math.min(0.5, (next - point) / 2);
    for (const value of [point - gap, point + gap, (point + next) / 2]) found.add(value);
  }
  return [...found].filter((value) => !whole || Number.isInteger(value));
}
