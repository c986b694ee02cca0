/** Sizes and traversal costs at run time, counted as cel-go and Kubernetes count them. */

import { mapEntries, mapSize } from '../map.ts';
import { codePoints, utf8Length } from '../text.ts';
import { CelMap, isMap, OpaqueValue, Optional, type Result, type Value } from '../values.ts';

export const STRING_TRAVERSAL = 0.1;
export const REGEX_LENGTH = 0.25;
export const LIST_CREATE = 10;
export const MAP_CREATE = 30;
export const STRUCT_CREATE = 40;

/** `sizeOf` returns the size of a string, bytes, list, map or sized opaque; 1 for everything else, including errors. */
export function sizeOf(value: Result): number {
  if (typeof value === 'string') return codePoints(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value)) return value.length;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof OpaqueValue) return value.size?.() ?? 1;
  if (value instanceof CelMap) return value.size;
  return isMap(value) ? mapSize(value) : 1;
}

/** Like `sizeOf`, but unwraps an optional: cel-go counts this way, the Kubernetes libraries do not. */
export function sizeThroughOptional(value: Result): number {
  let inner = value;
  while (inner instanceof Optional && inner.value !== undefined) inner = inner.value;
  return sizeOf(inner);
}

/** `traversal` returns the cost of one pass over a string of this size, rounded up: ceil(size × 0.1 × factor). */
export function traversal(size: number, factor = 1): number {
  return Math.ceil(size * factor * STRING_TRAVERSAL);
}

/** `traversalCost` returns the cost of walking a value as a tree; `sum`, `max`, `indexOf` and others charge it. */
export function traversalCost(value: Result): number {
  if (typeof value === 'string') return Math.floor(utf8Length(value) * STRING_TRAVERSAL);
  if (value instanceof Uint8Array) return Math.floor(value.length * STRING_TRAVERSAL);
  if (Array.isArray(value)) {
    let cost = 0;
    for (const element of value as readonly Value[]) cost += traversalCost(element);
    return cost;
  }
  if (isMap(value)) {
    let cost = 0;
    for (const [key, each] of mapEntries(value)) cost += traversalCost(key) + traversalCost(each);
    return cost;
  }
  return 1;
}
