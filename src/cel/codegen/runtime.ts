/** The functions that generated code calls if its inline path does not apply. */
import { equalOrError } from '../compare.ts';
import { mapKeys } from '../map.ts';
import { dispatch } from '../plan/dispatch.ts';
import { makeMap, optionalElement } from '../plan/fold.ts';
import { memberKey } from '../plan/membership.ts';
import { hasField, isContainer, lookup, missing, selectField, selectIndex } from '../run/access.ts';
import { MapBuilder } from '../run/builders.ts';
import { at, Cancelled, interrupted, overBudget, readAt, undeclared } from '../run/frame.ts';
import { absorb, badCondition } from '../run/logic.ts';
import { inside, reread } from '../run/optionals.ts';
import { compareCost, equalityCost } from '../standard/costs.ts';
import { codePoints } from '../text.ts';
import { CelError, isMap, NonValue, noSuchOverload, Optional, type Result, type Value } from '../values.ts';

/**
 * The state that a run shares with its caller. It is read at the start and written at the end, so one object serves all
 * runs.
 */
export interface State {
  limit: number;
  interrupt: (() => boolean) | undefined;
  cost: number;
}

/**
 * Thrown if generated code meets a value that it does not support, such as an optional in the data. The evaluation is
 * then repeated with closures, which support everything.
 */
export const BAIL = Symbol('bail');

function bail(): never {
  throw BAIL;
}

function over(state: State, cost: number): never {
  state.cost = cost;
  throw new Cancelled(overBudget());
}

/**
 * The cost of the cheapest hundred loop iterations: a loop calls its host about as often as cel-go does in Kubernetes.
 */
const COST_BETWEEN_PAUSES = 300;

/** Checks the cost limit and the interrupt; returns the cost at which a loop must call it again. */
function pause(state: State, limit: number, interrupt: (() => boolean) | undefined, cost: number): number {
  if (cost > limit) over(state, cost);
  if (interrupt?.() === true) {
    state.cost = cost;
    throw new Cancelled(interrupted());
  }
  return Math.min(limit, cost + COST_BETWEEN_PAUSES);
}

/** One step of a selection that is known when code is generated. */
export class Step {
  readonly key: Value;
  readonly offset: number;
  readonly strict: boolean;
  /** The host variable that the step starts from, if it is the first step. */
  readonly from: { readonly name: string; readonly offset: number } | undefined;
  /** The error for a JSON object without the key. It is always the same, so it is created once. */
  readonly missing: CelError | undefined;

  constructor(key: Value, offset: number, strict: boolean, from: Step['from']) {
    this.key = key;
    this.offset = offset;
    this.strict = strict;
    this.from = from;
    this.missing = isInline(key) ? at(new CelError('no_such_key', `no such key: ${key}`), offset) : undefined;
  }
}

/** `isInline` reports whether the inline path covers a key: if it finds nothing in a JSON object, the key is absent. */
export const isInline = (key: Value): key is string => typeof key === 'string' && !(key in Object.prototype);

/** Returns 1 if the host provides a value for the start of a selection, else 0: the step is then not charged. */
const reached = (root: Result | undefined): number => (root === undefined || root instanceof NonValue ? 0 : 1);

/** Returns the error for a start that the host does not provide. */
function lost(root: Result | undefined, name: string, offset: number): NonValue {
  return root instanceof NonValue ? readAt(root, offset) : at(undeclared(name), offset);
}

/** Reads a step if the inline path found nothing: from another kind of value, or an error with its position. */
function pick(operand: Result | undefined, step: Step): Result {
  if (step.missing !== undefined && operand?.constructor === Object) return step.missing;
  if (step.from !== undefined && reached(operand) === 0) return lost(operand, step.from.name, step.from.offset);
  if (operand instanceof Optional) throw BAIL;
  const { key } = step;
  return at(
    typeof key === 'string' ? selectField(operand as Value, key) : selectIndex(operand as Value, key),
    step.offset,
  );
}

function has(operand: Result | undefined, step: Step): boolean | NonValue {
  if (step.from !== undefined && reached(operand) === 0) return lost(operand, step.from.name, step.from.offset);
  if (operand instanceof Optional) throw BAIL;
  const strictly = step.strict && !isContainer(operand as Value);
  const found = strictly ? missing(operand as Value, step.key) : hasField(operand as Value, step.key as string);
  return found instanceof NonValue ? at(found, step.offset) : found;
}

function index(operand: Result, key: Value, offset: number): Result {
  if (operand instanceof Optional) throw BAIL;
  return at(selectIndex(operand as Value, key), offset);
}

/** Evaluates a step of an optional chain: undefined ends the chain. */
function find(operand: Result | undefined, step: Step, key: Value): Result | undefined {
  if (step.from !== undefined && reached(operand) === 0) return lost(operand, step.from.name, step.from.offset);
  const strictly = step.strict && !isContainer(operand as Value);
  const found = strictly ? missing(operand as Value, key) : lookup(operand as Value, key);
  return found instanceof NonValue ? at(found, step.offset) : found;
}

/** Returns the keys of a loop whose range is not a list; an error if the range is not iterable. */
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

/** Returns the cost of `==` if one operand is a constant of this size. */
function constantCost(value: Result, size: number): number {
  if (size === 0) return 0;
  if (typeof value === 'string') {
    if (value.length === 0) return 0;
    return size <= 10 ? 1 : Math.ceil(Math.min(codePoints(value), size) * 0.1);
  }
  return typeof value === 'object' && value !== null ? -1 : 1;
}

/** A failed argument for cost functions, which count every error as size 1. */
export const FAILED = new CelError('host', 'failed argument');

export const RUNTIME = {
  NonValue,
  Optional,
  MapBuilder,
  FAILED,
  none: Optional.none,
  UNSET: Symbol('unset'),
  bail,
  over,
  pause,
  reached,
  lost,
  pick,
  has,
  index,
  find,
  keys,
  element,
  entry,
  constantCost,
  compareCost,
  equalityCost,
  equalOrError,
  absorb,
  badCondition,
  inside,
  reread,
  at,
  lookup,
  dispatch,
  makeMap,
  memberKey,
  codePoints,
  isSafe: Number.isSafeInteger,
} as const;

export type Helper = keyof typeof RUNTIME;
