/** Ranges of sizes and costs, with the arithmetic of cel-go: whole numbers that stop at 2^64. */
import { type Range, UNBOUNDED } from '../declarations.ts';

export const fixed = (size: number): Range => ({ min: size, max: size });
export const UNKNOWN: Range = { min: 0, max: UNBOUNDED };
export const ZERO = fixed(0);

const stop = (value: number): number => Math.min(value, UNBOUNDED);

export const plus = (left: Range, right: Range): Range => ({
  min: stop(left.min + right.min),
  max: stop(left.max + right.max),
});

export const times = (left: Range, right: Range): Range => ({
  min: stop(left.min * right.min),
  max: stop(left.max * right.max),
});

/** `scaled` multiplies each bound by a factor and rounds up. */
export const scaled = (range: Range, factor: number): Range => ({
  min: stop(Math.ceil(range.min * factor)),
  max: stop(Math.ceil(range.max * factor)),
});

export const union = (left: Range, right: Range): Range => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
});
