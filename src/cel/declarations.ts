/**
 * Declarations of function libraries: functions with their overloads, types and macros.
 *
 *     const library: Library = {
 *       name: 'quantity',
 *       types: [QUANTITY],
 *       functions: [
 *         fn('isQuantity', [overload('is_quantity_string', [STRING], BOOL, (text) => parses(text), { cost, estimate })]),
 *         fn('add', [member('quantity_add', [QUANTITY, QUANTITY], QUANTITY, (left, right) => …)]),
 *       ],
 *     };
 *
 * An implementation is called only with arguments that match the declared parameters at run time: the right kind, and
 * for a list or map the right kind of its first element (that is all cel-go looks at, so an implementation checks the
 * other elements itself and answers `noSuchOverload()`). It never gets an error or an unknown, must not throw, must not
 * mutate its arguments, and answers with a value or a CelError.
 */
import type { Call, Expr } from './ast.ts';
import type { Type } from './types.ts';
import type { CelError, Result, Value } from './values.ts';

export interface Library {
  readonly name: string;
  readonly functions?: readonly FunctionDeclaration[];
  /** Types that an expression may name, such as `type(x) == net.IP`. */
  readonly types?: readonly Type[];
  readonly macros?: readonly Macro[];
  readonly validators?: readonly CallValidator[];
}

/** Validates a checked call before it runs, for example a literal that is never a valid argument. */
export interface CallValidator {
  readonly function: string;
  readonly member: boolean;
  /** `validate` returns the problem and its position, or undefined. `typeOf` returns the checked type of a node. */
  validate(call: Call, typeOf: (node: Expr) => Type): { readonly node: Expr; readonly message: string } | undefined;
}

/** Several libraries may declare overloads of one function; the ids must differ. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

export interface Overload {
  readonly id: string;
  /** Whether it is called as `receiver.name(…)`; then the first parameter is the receiver. */
  readonly member: boolean;
  readonly parameters: readonly Type[];
  readonly result: Type;
  readonly implementation: Implementation;
  /**
   * Whether the implementation serves all overloads of the function and checks its arguments itself, as operators do.
   */
  readonly singleton?: boolean;
  /** The cost of one call at run time; 1 by default. */
  readonly cost?: RuntimeCost;
  /**
   * Like `cost`, but only if type checking selected this single overload; otherwise 1. The standard library uses it.
   */
  readonly soleCost?: RuntimeCost;
  /** The estimated cost of a call; 1 by default. */
  readonly estimate?: StaticCost;
}

/**
 * An implementation may declare its parameters as narrowly as the declared types allow, because dispatch checks them.
 * The method-like bivariant declaration makes `(text: string) => …` assignable.
 */
export type Implementation = { bivariance(...args: Value[]): Value | CelError }['bivariance'];

/**
 * `RuntimeCost` returns the cost of a call, a whole number ≥ 0. `args` includes the receiver. An argument or the result
 * may be an error, because failed calls are charged too: `sizeOf` of cost/size.ts counts an error as 1.
 */
export type RuntimeCost = (args: readonly Result[], result: Result) => number;

/** Both bounds are whole numbers; `max` is UNBOUNDED if nothing is known. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

export const UNBOUNDED = 2 ** 64;

export interface EstimateNode {
  readonly type: Type;
  /** Size bounds of the value: code points of a string, bytes, elements. 0…UNBOUNDED if nothing is known. */
  readonly size: Range;
  /** Whether `size` was computed or declared, not assumed. */
  readonly sized: boolean;
  /** The value, if the expression is a literal. */
  readonly literal?: Value;
  /** Returns a node for the elements of a list. */
  element(): EstimateNode | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  /** The size of the result, if it is known. */
  readonly resultSize?: Range;
}

/**
 * `StaticCost` estimates the cost of a call. `target` is set for member calls only. It returns undefined to fall back
 * to 1.
 */
export type StaticCost = (target: EstimateNode | undefined, args: readonly EstimateNode[]) => CallEstimate | undefined;

interface OverloadOptions {
  readonly singleton?: boolean;
  readonly cost?: RuntimeCost;
  readonly soleCost?: RuntimeCost;
  readonly estimate?: StaticCost;
}

export function overload(
  id: string,
  parameters: readonly Type[],
  result: Type,
  implementation: Implementation,
  options: OverloadOptions = {},
): Overload {
  return { id, member: false, parameters, result, implementation, ...options };
}

/** Like `overload`, for a method: the first of `parameters` is the receiver. */
export function member(
  id: string,
  parameters: readonly Type[],
  result: Type,
  implementation: Implementation,
  options: OverloadOptions = {},
): Overload {
  return { id, member: true, parameters, result, implementation, ...options };
}

export function fn(name: string, overloads: readonly Overload[]): FunctionDeclaration {
  return { name, overloads };
}

/** A call that is rewritten at parse time. The first macro that does not return undefined is used. */
export interface Macro {
  readonly name: string;
  readonly member: boolean;
  /** The number of arguments; undefined accepts any number. */
  readonly arguments?: number;
  /** `target` is set for a member call. Returns undefined to keep a plain call. */
  expand(builder: MacroBuilder, target: Expr | undefined, args: readonly Expr[], call: Call): Expr | undefined;
}

/** Builds nodes at the source position of the macro call. */
export interface MacroBuilder {
  /** The name of the hidden accumulator. */
  readonly accumulator: string;
  literal(value: Value): Expr;
  identifier(name: string): Expr;
  select(operand: Expr, field: string, test?: boolean): Expr;
  call(name: string, ...args: Expr[]): Expr;
  memberCall(name: string, target: Expr, ...args: Expr[]): Expr;
  list(...elements: Expr[]): Expr;
  map(...entries: { key: Expr; value: Expr; optional?: boolean }[]): Expr;
  comprehension(parts: {
    range: Expr;
    variable: string;
    variable2?: string;
    accumulator?: string;
    initial: Expr;
    condition: Expr;
    step: Expr;
    result: Expr;
  }): Expr;
  /** `copy` copies a node with new ids, because a node must not occur twice in a tree. */
  copy(node: Expr): Expr;
  /** `error` reports a syntax error at `node` and returns a placeholder node. */
  error(node: Expr, message: string): Expr;
}
