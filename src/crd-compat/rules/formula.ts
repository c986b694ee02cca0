/**
 * When a rule is true, when it is false, and when it fails to evaluate, as formulas of two-valued logic. The API server
 * refuses an object whose rule fails to evaluate, as if the rule were false, so `true` and `not false` are different
 * formulas.
 */
import type { Value } from '../../cel/index.ts';
import type { StringSet } from '../pattern/index.ts';
import type { Place, Presence } from './place.ts';

/** A value that rules compare: a field, its size, the sum of two. Terms with equal keys have equal values. */
export interface Term {
  readonly key: string;
  readonly type: 'int' | 'string' | 'other';
  readonly place: Place | undefined;
  /** For `size(x)`, the term x. */
  readonly sizeOf?: Term;
}

export type Order = '<' | '<=' | '>' | '>=';

export type Fact =
  /** Whether a field is present. */
  | { readonly kind: 'has'; readonly key: string; readonly holds: boolean; readonly presence: Presence }
  /** Whether an expression can be evaluated. */
  | { readonly kind: 'defined'; readonly key: string; readonly holds: boolean }
  /** Whether an expression that is known only by its text is true. */
  | { readonly kind: 'true'; readonly key: string; readonly holds: boolean }
  | { readonly kind: 'order'; readonly term: Term; readonly order: Order; readonly value: Value }
  | { readonly kind: 'among'; readonly term: Term; readonly values: readonly Value[]; readonly holds: boolean }
  | {
      readonly kind: 'strings';
      readonly term: Term;
      readonly key: string;
      readonly set: StringSet;
      readonly holds: boolean;
    }
  /**
   * How two terms compare: the set of possible results -1, 0 and 1, for the term that sorts first against the other.
   */
  | { readonly kind: 'relation'; readonly terms: readonly [string, string]; readonly signs: readonly number[] };

/** A list or a map that a macro iterates over. */
export interface Range {
  readonly key: string;
  readonly size: Term;
  readonly isMap: boolean;
  readonly place: Place | undefined;
}

export interface Element {
  readonly key: string;
  readonly place: Place | undefined;
  /** For a key, the map that contains it. */
  readonly keyOf?: string;
}

export type Formula =
  | Fact
  | { readonly kind: 'all'; readonly parts: readonly Formula[] }
  | { readonly kind: 'any'; readonly parts: readonly Formula[] }
  | { readonly kind: 'each'; readonly range: Range; readonly body: (element: Element) => Formula }
  | { readonly kind: 'some'; readonly range: Range; readonly body: (element: Element) => Formula };

export const all = (...parts: readonly Formula[]): Formula => ({ kind: 'all', parts });
export const any = (...parts: readonly Formula[]): Formula => ({ kind: 'any', parts });
/** `relation` is the formula for: `left` compares to `right` with one of the signs. */
export function relation(left: string, right: string, signs: readonly number[]): Formula {
  const possible = left === right ? signs.filter((each) => each === 0) : signs;
  return left <= right
    ? { kind: 'relation', terms: [left, right], signs: possible }
    : { kind: 'relation', terms: [right, left], signs: possible.map((each) => 0 - each) };
}

export const ALWAYS: Formula = all();
export const NEVER: Formula = any();
