/**
 * What it takes for a rule to be true, false, or neither, as formulas of two-valued logic. A rule that fails to be evaluated is neither,
 * and refuses the object like one that is false: so `true` and `not false` are distinguished everywhere.
 */
import type { Value } from '../../cel/index.ts';
import type { StringSet } from '../pattern/index.ts';
import type { Place, Presence } from './place.ts';

/** Something that rules say things about: a field, the size of one, the sum of two. Equal keys, equal values. */
export interface Term {
  readonly key: string;
  readonly type: 'int' | 'string' | 'other';
  readonly place: Place | undefined;
  /** Of `size(x)`: x. */
  readonly sizeOf?: Term;
}

export type Order = '<' | '<=' | '>' | '>=';

export type Fact =
  /** A field is there. */
  | { readonly kind: 'has'; readonly key: string; readonly holds: boolean; readonly presence: Presence }
  /** Something can be evaluated. */
  | { readonly kind: 'defined'; readonly key: string; readonly holds: boolean }
  /** Something of which only its text is known is true or false. */
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
  /** How two terms compare, the one that sorts first to the other: a subset of -1, 0 and 1. */
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
  /** Of a key: the map that it is in. */
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
/** `left` is to `right` as one of the signs says. */
export function relation(left: string, right: string, signs: readonly number[]): Formula {
  const possible = left === right ? signs.filter((each) => each === 0) : signs;
  return left <= right
    ? { kind: 'relation', terms: [left, right], signs: possible }
    : { kind: 'relation', terms: [right, left], signs: possible.map((each) => 0 - each) };
}

export const ALWAYS: Formula = all();
export const NEVER: Formula = any();
