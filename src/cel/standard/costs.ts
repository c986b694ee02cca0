/** The run-time costs of the standard functions, from the table of cel-go; all others cost 1. */

import { REGEX_LENGTH, STRING_TRAVERSAL, sizeThroughOptional, traversal } from '../cost/size.ts';
import type { RuntimeCost } from '../declarations.ts';
import { OpaqueValue, type Result } from '../values.ts';

/** One pass over the first argument. */
export const firstTraversal: RuntimeCost = (args) => traversal(sizeThroughOptional(args[0] as Result));

/** The size of the second argument, a list to search. */
export const secondSize: RuntimeCost = (args) => sizeThroughOptional(args[1] as Result);

/** A traversal of the shorter argument, where a comparison stops. */
export const shorterTraversal: RuntimeCost = (args) => compareCost(args[0] as Result, args[1] as Result);

export const bothTraversal: RuntimeCost = (args) =>
  Math.ceil((sizeThroughOptional(args[0] as Result) + sizeThroughOptional(args[1] as Result)) * STRING_TRAVERSAL);

export const matchCost: RuntimeCost = (args) => {
  const text = Math.ceil((1 + sizeThroughOptional(args[0] as Result)) * STRING_TRAVERSAL);
  return text * Math.ceil(sizeThroughOptional(args[1] as Result) * REGEX_LENGTH);
};

export const searchCost: RuntimeCost = (args) =>
  traversal(sizeThroughOptional(args[0] as Result)) * traversal(sizeThroughOptional(args[1] as Result));

export function compareCost(left: Result, right: Result): number {
  return traversal(Math.min(sizeThroughOptional(left), sizeThroughOptional(right)));
}

/**
 * The cost of `==`: that of a comparison, but 1 for opaque types of Kubernetes, whose size is ignored. `!=` has no such
 * exception.
 */
export function equalityCost(left: Result, right: Result): number {
  return left instanceof OpaqueValue ? 1 : compareCost(left, right);
}
