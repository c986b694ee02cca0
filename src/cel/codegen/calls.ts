/**
 * Generates JavaScript for calls and equality: arguments in the order of cel-go, common cases inline, and calls of the
 * implementations for the rest.
 */

import { sizeOf } from '../cost/size.ts';
import type { CallPlan, EqualityPlan, Plan } from '../plan/plan.ts';
import { compareCost, equalityCost } from '../standard/costs.ts';
import { sameType, type Type } from '../types.ts';
import { OpaqueValue, type Value } from '../values.ts';
import type { Values } from './attributes.ts';
import { block, canFail, type Generator, surcharge, type Target } from './generator.ts';
import { inlineCall, inlineCost } from './operators.ts';
import { FAILED } from './runtime.ts';

/**
 * Generates both operands of a strict binary step. cel-go evaluates the right operand even if the left one has failed;
 * this code does so if the right operand may have a cost. The failure is then that of the left operand.
 */
function both(
  g: Generator,
  values: Values,
  left: Plan,
  right: Plan,
  target: Target,
  failedCost: (left: string, right: string) => string,
  /** Returns the cost if the left operand has failed and the right operand is this constant. */
  constantCost: (right: Value) => number,
): [string, string] {
  if (right.op === 'constant') {
    const b = values.value(right, target);
    return [values.value(left, surcharge(target, [g.literal(constantCost(right.value))])), b];
  }
  if (!canFail(left)) {
    const a = values.value(left, target);
    return [a, values.value(right, surcharge(target, [failedCost(a, g.h.FAILED)]))];
  }
  const a = side(g, values, left);
  if (!canFail(right)) {
    const b = values.value(right, target);
    g.failIf(`${a} instanceof ${g.h.NonValue}`, target, a, [failedCost(g.h.FAILED, b)]);
    return [a, b];
  }
  const b = side(g, values, right);
  g.failIf(`${a} instanceof ${g.h.NonValue}`, target, a, [failedCost(a, b)]);
  g.failIf(`${b} instanceof ${g.h.NonValue}`, target, b, [failedCost(a, b)]);
  return [a, b];
}

/** Evaluates one operand to a value or a failure. */
function side(g: Generator, values: Values, plan: Plan): string {
  const value = g.name();
  const size = g.name('z');
  g.emit(`let ${value}${plan.op === 'call' ? `, ${size}` : ''};`);
  block(g, value, (inner) => values.value(plan, inner), size);
  return value;
}

export function equality(g: Generator, values: Values, plan: EqualityPlan, target: Target): string {
  const cost = plan.op === 'equal' ? 'equalityCost' : 'compareCost';
  const constantCost = (right: Value): number => (plan.op === 'equal' ? equalityCost : compareCost)(FAILED, right);
  const [a, b] = both(g, values, plan.left, plan.right, target, (l, r) => `${g.h[cost]}(${l}, ${r})`, constantCost);
  equalCosts(g, plan, a, b, cost);
  const same = `${a} === ${b}`;
  const constant = [plan.left, plan.right].find((each) => each.op === 'constant') as { value: Value } | undefined;
  const kind = constant === undefined ? undefined : typeof constant.value;
  const other = constant === plan.left ? b : a;
  let compared = `${same} || (typeof ${a} === 'string' ? false : ${g.h.equalOrError}(${a}, ${b}))`;
  // A string, bool or null is equal only to the identical value.
  if (constant?.value === null || kind === 'string' || kind === 'boolean') {
    compared =
      constant === plan.left ? same : `${same} || (typeof ${a} === 'object' ? ${g.h.equalOrError}(${a}, ${b}) : false)`;
  } else if (kind === 'number') {
    compared = `typeof ${other} === 'number' ? ${same} : ${g.h.equalOrError}(${a}, ${b})`;
  }
  // A failed comparison is an error for `==`, and unequal for `!=`.
  if (plan.op === 'unequal') return g.held(`(${compared}) !== true`);
  const result = g.held(compared);
  if (plan.left.op !== 'constant') {
    g.failIf(`typeof ${result} !== 'boolean'`, target, `${g.h.at}(${result}, ${plan.node.offset})`);
  }
  return result;
}

function equalCosts(
  g: Generator,
  plan: EqualityPlan,
  a: string,
  b: string,
  cost: 'equalityCost' | 'compareCost',
): void {
  const constant = plan.right.op === 'constant' ? plan.right : plan.left.op === 'constant' ? plan.left : undefined;
  const other = constant === plan.right ? a : b;
  if (constant === undefined || constant.value instanceof OpaqueValue) {
    chargeNow(g, `${g.h[cost]}(${a}, ${b})`);
    return;
  }
  const size = sizeOf(constant.value);
  const known = g.sizes.get(other);
  if (known !== undefined) {
    chargeNow(g, `Math.ceil(Math.min(${known}, ${g.literal(size)}) * 0.1)`, true);
    return;
  }
  const answered = g.name('c');
  // The common case comes first: a scalar, or a non-empty string, compared with a short constant.
  const usual =
    typeof constant.value === 'string'
      ? `typeof ${other} === 'string' && ${other} !== ''`
      : `typeof ${other} === 'number'`;
  const quick = size > 0 && size <= 10 ? `${usual} ? 1 : ` : '';
  g.emit(`const ${answered} = ${quick}${g.h.constantCost}(${other}, ${g.literal(size)});`);
  chargeNow(g, `${answered} < 0 ? ${g.h[cost]}(${a}, ${b}) : ${answered}`, true);
}

/** Charges a cost that is known only at run time; unless it is small, the cost limit is checked at once. */
function chargeNow(g: Generator, cost: string, small = false): void {
  g.flush();
  if (small) g.emit(`cost += ${cost};`);
  else g.emit(`if ((cost += ${cost}) > limit) ${g.h.over}(S, cost);`);
}

export function call(g: Generator, values: Values, plan: CallPlan, target: Target): string {
  if (plan.known !== undefined) {
    g.charge(plan.known.cost);
    return g.constant(plan.known.value);
  }
  const costOf = (args: readonly string[], result: string): string =>
    plan.cost === undefined ? '1' : `${g.constant(plan.cost)}([${args.join(', ')}], ${result})`;
  const args = callArguments(g, values, plan, target, costOf);
  const result = g.name();
  const fallible = surcharge(target, [costOf(args, result)]);
  const failed = failureOf(g, plan, result);
  const error = `${g.h.at}(${result}, ${g.literal(plan.node.offset)})`;
  if (inlineCall(g, plan, args, result)) {
    g.emit(`if (${result} === undefined) { ${result} = ${general(g, plan, args)};`);
    g.failIf(failed, fallible, error);
    g.emit('}');
  } else {
    g.emit(`const ${result} = ${general(g, plan, args)};`);
    g.failIf(failed, fallible, error);
  }
  if (plan.cost === undefined) g.charge(1);
  else chargeNow(g, inlineCost(g, plan, args, result) ?? costOf(args, result));
  return result;
}

/** Returns a test for a result that is not a value. */
function failureOf(g: Generator, plan: CallPlan, result: string): string {
  const boolean = plan.overloads.length > 0 && plan.overloads.every((each) => each.result.kind === 'bool');
  return boolean ? `typeof ${result} !== 'boolean'` : `${result} instanceof ${g.h.NonValue}`;
}

function callArguments(
  g: Generator,
  values: Values,
  plan: CallPlan,
  target: Target,
  costOf: (args: readonly string[], result: string) => string,
): readonly string[] {
  const { args, early } = plan;
  const [first, second] = args as [Plan, Plan];
  if (args.length === 2 && !early) {
    const constantCost = (right: Value): number => plan.cost?.([FAILED, right], FAILED) ?? 1;
    return both(g, values, first, second, target, (a, b) => costOf([a, b], g.h.FAILED), constantCost);
  }
  // A call that stops at a failed argument is charged only if that argument is the last.
  const done: string[] = [];
  for (const [index, argument] of args.entries()) {
    const last = index === args.length - 1;
    const failing = last ? surcharge(target, [costOf([...done, g.h.FAILED], g.h.FAILED)]) : target;
    done.push(values.value(argument, failing));
  }
  return done;
}

/** Generates a call for arguments of unknown types. */
function general(g: Generator, plan: CallPlan, args: readonly string[]): string {
  const [overload] = plan.overloads;
  if (overload !== undefined && plan.singleton) return `${g.constant(overload.implementation)}(${args.join(', ')})`;
  const sole = plan.overloads.length === 1 ? overload : undefined;
  const dispatched = (): string =>
    `${g.h.dispatch}(${JSON.stringify(plan.name)}, ${g.constant(plan.overloads)}, [${args.join(', ')}])`;
  if (sole === undefined || sole.parameters.length !== args.length) return dispatched();
  const guards = sole.parameters.map((each, index) => guard(each, args[index] as string, plan.args[index] as Plan));
  if (guards.includes(undefined)) return dispatched();
  const condition = guards.filter((each) => each !== '').join(' && ');
  const direct = `${g.constant(sole.implementation)}(${args.join(', ')})`;
  return condition === '' ? direct : `${condition} ? ${direct} : ${dispatched()}`;
}

/**
 * Code that tests whether an argument has the type of a parameter: '' if it always has, undefined if inline code cannot
 * decide.
 */
function guard(type: Type, argument: string, plan: Plan): string | undefined {
  switch (type.kind) {
    case 'dyn':
    case 'parameter':
      return '';
    case 'string':
      if (plan.op === 'constant' && typeof plan.value === 'string') return '';
      return `typeof ${argument} === 'string'`;
    case 'bool':
      return `typeof ${argument} === 'boolean'`;
    case 'object':
    case 'opaque':
      return isMadeAs(type, plan) ? '' : undefined;
    default:
      return undefined;
  }
}

/** Whether the argument is the result of a library function that always returns this opaque type. */
function isMadeAs(type: Type, plan: Plan): boolean {
  if (plan.op !== 'call' || plan.overloads.length === 0 || type.parameters.length > 0) return false;
  return plan.overloads.every(({ result }) => sameType(result, type));
}
