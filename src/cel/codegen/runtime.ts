/** What generated code calls when the path written inline does not apply. */
import { equal } from '../compare.ts';
import { mapKeys } from '../map.ts';
import { dispatch } from '../plan/dispatch.ts';
import { makeMap, optionalElement } from '../plan/fold.ts';
import { memberKey } from '../plan/planner.ts';
import { hasField, isContainer, lookup, missing, selectField, selectIndex } from '../run/access.ts';
import { MapBuilder } from '../run/builders.ts';
import { at, Cancelled, interrupted, overBudget, readAt, undeclared } from '../run/frame.ts';
import { absorb, badCondition } from '../run/logic.ts';
import { inside, reread } from '../run/optionals.ts';
import { compareCost, equalityCost } from '../standard/costs.ts';
import { codePoints } from '../text.ts';
import { CelError, isMap, NonValue, noSuchOverload, Optional, type Result, type Value } from '../values.ts';

/** What one run shares with the outside. */
export interface State {
  readonly limit: number;
  readonly interrupt: (() => boolean) | undefined;
  cost: number;
}

/**
 * Thrown where generated code meets what it was not made for (an optional in the data, say): the evaluation is done
 * again with closures, which are made for everything.
 */
export const BAIL = Symbol('bail');

function bail(): never {
  throw BAIL;
}

function over(state: State, cost: number): never {
  state.cost = cost;
  throw new Cancelled(overBudget());
}

function poll(state: State, cost: number): void {
  if (state.interrupt === undefined || !state.interrupt()) return;
  state.cost = cost;
  throw new Cancelled(interrupted());
}

/** A field where the inline path found none: of another kind of value, or missing. */
function select(operand: Result | undefined, name: string): Result {
  // An object of JSON that the inline path found nothing in does not have it, unless the name is one it leaves out.
  if (operand != null && operand.constructor === Object && !(name in Object.prototype)) {
    return missing(operand as Value, name);
  }
  if (operand instanceof NonValue) return operand;
  if (operand instanceof Optional) throw BAIL;
  return selectField(operand as Value, name);
}

function index(operand: Result | undefined, key: Value): Result {
  if (operand instanceof NonValue) return operand;
  if (operand instanceof Optional) throw BAIL;
  return selectIndex(operand as Value, key);
}

/** A step of an optional chain: undefined ends it. */
function find(operand: Result | undefined, key: Value, strict: boolean): Result | undefined {
  if (operand instanceof NonValue) return operand;
  if (strict && !isContainer(operand as Value)) return missing(operand as Value, key);
  return lookup(operand as Value, key);
}

function has(operand: Result | undefined, name: string, strict: boolean): boolean | NonValue {
  if (operand instanceof NonValue) return operand;
  if (operand instanceof Optional) throw BAIL;
  if (strict && !isContainer(operand as Value)) return missing(operand as Value, name);
  return hasField(operand as Value, name);
}

/** The keys a loop runs over when its range is no list; an error for what cannot be looped over. */
function keys(range: Value, offset: number): readonly Value[] | NonValue {
  return isMap(range) ? mapKeys(range) : at(noSuchOverload('expected iterable type'), offset);
}

function element(values: Value[], value: Value): CelError | undefined {
  const inner = optionalElement(value, 'list element');
  if (inner instanceof CelError) return inner;
  if (inner !== undefined) values.push(inner);
  return undefined;
}

const entry = (value: Value, name: string): Value | undefined | CelError => optionalElement(value, name);

/** `==` when one side is a constant of this size. */
function constantCost(value: Result, size: number): number {
  if (size === 0) return 0;
  if (typeof value === 'string') {
    if (value.length === 0) return 0;
    return size <= 10 ? 1 : Math.ceil(Math.min(codePoints(value), size) * 0.1);
  }
  return typeof value === 'object' && value !== null ? -1 : 1;
}

export const RUNTIME = {
  NonValue,
  Optional,
  MapBuilder,
  none: Optional.none,
  UNSET: Symbol('unset'),
  bail,
  over,
  poll,
  select,
  index,
  find,
  has,
  keys,
  element,
  entry,
  constantCost,
  compareCost,
  equalityCost,
  equal,
  absorb,
  badCondition,
  inside,
  reread,
  at,
  readAt,
  undeclared,
  lookup,
  dispatch,
  makeMap,
  memberKey,
  codePoints,
  isSafe: Number.isSafeInteger,
} as const;
