/** Arithmetic on ranges of sizes and costs, like that of cel-go on uint64: it saturates at UNBOUNDED. */
import { sizeOf, traversal } from '../cost/size.ts';
import {
  type CallEstimate,
  type EstimateNode,
  type Range,
  type RuntimeCost,
  type StaticCost,
  UNBOUNDED,
} from '../declarations.ts';

export const fixed = (value: number): Range => ({ min: value, max: value });
export const range = (min: number, max: number): Range => ({ min, max });
export const UNKNOWN_SIZE: Range = range(0, UNBOUNDED);
export const ONE: Range = fixed(1);

/** `nominal` estimates a cost of 1 for every call. */
export const nominal: StaticCost = () => ({ cost: ONE });

export const saturate = (value: number): number => (value >= UNBOUNDED ? UNBOUNDED : value);

export function add(...ranges: readonly Range[]): Range {
  let min = 0;
  let max = 0;
  for (const each of ranges) {
    min += each.min;
    max += each.max;
  }
  return { min: saturate(min), max: saturate(max) };
}

export const multiply = (left: Range, right: Range): Range => ({
  min: saturate(left.min * right.min),
  max: saturate(left.max * right.max),
});

/** `scale` multiplies each bound by a factor and rounds up. */
export const scale = (of: Range, factor: number): Range => ({
  min: saturate(Math.ceil(of.min * factor)),
  max: saturate(Math.ceil(of.max * factor)),
});

export const sizeOfNode = (node: EstimateNode | undefined): Range => node?.size ?? UNKNOWN_SIZE;

/** `literalCount` returns a literal int, 0 if it is negative, and `otherwise` for every other node. */
export function literalCount(node: EstimateNode | undefined, otherwise: number): number {
  const literal = node?.literal;
  if (typeof literal === 'bigint') return literal < 0n ? 0 : Number(literal);
  if (typeof literal === 'number' && Number.isSafeInteger(literal)) return Math.max(literal, 0);
  return otherwise;
}

/** `subtractUnsigned` computes `left - right` as uint64: a negative difference wraps around. */
export const subtractUnsigned = (left: number, right: number): number =>
  left < right ? UNBOUNDED - (right - left) : left - right;

export const estimate = (cost: Range, resultSize?: Range): CallEstimate =>
  resultSize === undefined ? { cost } : { cost, resultSize };

/** The costs of a function that reads its only argument, a string, once. */
export const textPass: { readonly cost: RuntimeCost; readonly estimate: StaticCost } = {
  cost: ([text]) => traversal(sizeOf(text ?? null)),
  estimate: (_target, [text]) => estimate(scale(sizeOfNode(text), 0.1)),
};
