/** Calls and operators as JavaScript: the common cases inline, the rest through their implementations. */

import { sizeOf } from '../cost/size.ts';
import type { CallPlan, EqualityPlan, Plan } from '../plan/plan.ts';
import { compareCost, equalityCost, matchCost } from '../standard/costs.ts';
import { compileRegex } from '../standard/regex.ts';
import type { Type } from '../types.ts';
import { CelError, OpaqueValue, type Value } from '../values.ts';
import { isInline, isJson, type Values } from './attributes.ts';
import { block, canFail, type Generator, surcharge, type Target } from './generator.ts';

/** An error to ask cost functions what a call costs whose argument has failed: they count it as 1, whatever it is. */
export const FAILED = new CelError('host', 'failed argument');

/**
 * Both sides of a strict binary step. cel-go evaluates the right one even when the left has failed, and so does
 * this where that could cost anything; the failure is then that of the left.
 */
export function both(
  g: Generator,
  values: Values,
  left: Plan,
  right: Plan,
  target: Target,
  failedCost: (left: string, right: string) => string,
  /** What it costs when the left side has failed and the right one is this constant. */
  constantCost: (right: Value) => number,
): [string, string] {
  if (right.op === 'constant') {
    const b = values.value(right, target);
    return [values.value(left, surcharge(target, [String(constantCost(right.value))])), b];
  }
  if (!canFail(left)) {
    const a = values.value(left, target);
    return [a, values.value(right, surcharge(target, [failedCost(a, 'FAILED')]))];
  }
  const a = g.name();
  g.emit(`let ${a};`);
  block(g, a, (inner) => values.value(left, inner));
  if (!canFail(right)) {
    const b = values.value(right, target);
    g.failIf(`${a} instanceof NonValue`, target, a, [failedCost('FAILED', b)]);
    return [a, b];
  }
  const b = g.name();
  g.emit(`let ${b};`);
  block(g, b, (inner) => values.value(right, inner));
  g.failIf(`${a} instanceof NonValue`, target, a, [failedCost(a, b)]);
  g.failIf(`${b} instanceof NonValue`, target, b, [failedCost(a, b)]);
  return [a, b];
}

export function equality(g: Generator, values: Values, plan: EqualityPlan, target: Target): string {
  const cost = plan.op === 'equal' ? 'equalityCost' : 'compareCost';
  const constantCost = (right: Value): number => (plan.op === 'equal' ? equalityCost : compareCost)(FAILED, right);
  const [a, b] = both(g, values, plan.left, plan.right, target, (l, r) => `${cost}(${l}, ${r})`, constantCost);
  equalCosts(g, plan, a, b, cost);
  const constant = [plan.left, plan.right].find((each) => each.op === 'constant') as { value: Value } | undefined;
  const not = plan.op === 'equal' ? '' : '!';
  // Against a string, bool or null, only the very same value is equal.
  if (
    constant !== undefined &&
    (constant.value === null || typeof constant.value === 'string' || typeof constant.value === 'boolean')
  ) {
    return `(${a} ${not === '' ? '===' : '!=='} ${b})`;
  }
  if (typeof constant?.value === 'number') {
    const other = constant === plan.left ? b : a;
    return `${not}(typeof ${other} === 'number' ? ${a} === ${b} : equal(${a}, ${b}))`;
  }
  return `${not}(${a} === ${b} || (typeof ${a} === 'string' ? false : equal(${a}, ${b})))`;
}

function equalCosts(g: Generator, plan: EqualityPlan, a: string, b: string, cost: string): void {
  const constant = plan.right.op === 'constant' ? plan.right : plan.left.op === 'constant' ? plan.left : undefined;
  const other = constant === plan.right ? a : b;
  if (constant === undefined || constant.value instanceof OpaqueValue) {
    chargeNow(g, `${cost}(${a}, ${b})`);
    return;
  }
  const size = sizeOf(constant.value);
  const known = g.sizes.get(other);
  if (known !== undefined) {
    chargeNow(g, `Math.ceil(Math.min(${known}, ${size}) * 0.1)`, true);
    return;
  }
  const answered = g.name('c');
  // The usual case first: a scalar, or a string that is not empty, against a short constant.
  const usual =
    typeof constant.value === 'string'
      ? `typeof ${other} === 'string' && ${other} !== ''`
      : `typeof ${other} === 'number'`;
  const quick = size > 0 && size <= 10 ? `${usual} ? 1 : ` : '';
  g.emit(`const ${answered} = ${quick}constantCost(${other}, ${size});`);
  chargeNow(g, `${answered} < 0 ? ${cost}(${a}, ${b}) : ${answered}`, true);
}

/** A cost known only now; one that may be large ends the evaluation at once when it is too much. */
function chargeNow(g: Generator, cost: string, small = false): void {
  g.flush();
  if (small) g.emit(`cost += ${cost};`);
  else g.emit(`if ((cost += ${cost}) > limit) over(S, cost);`);
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
  const quick = inlineCall(g, plan, args, result);
  const fallible = surcharge(target, [costOf(args, result)]);
  g.emit(
    !quick
      ? `let ${result} = ${general(g, plan, args)};`
      : `if (${result} === undefined) { ${result} = ${general(g, plan, args)};`,
  );
  g.failIf(`${result} instanceof NonValue`, fallible, `at(${result}, ${plan.node.offset})`);
  if (quick) g.emit('}');
  if (plan.cost === undefined) g.charge(1);
  else chargeNow(g, inlineCost(g, plan, args, result) ?? costOf(args, result));
  return result;
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
    return both(g, values, first, second, target, (a, b) => costOf([a, b], 'FAILED'), constantCost);
  }
  // A call that stops at an argument is charged only if that was the last.
  const done: string[] = [];
  for (const [index, argument] of args.entries()) {
    const last = index === args.length - 1;
    const value = values.value(argument, last ? surcharge(target, [costOf([...done, 'FAILED'], 'FAILED')]) : target);
    done.push(value);
  }
  return done;
}

/** The call as it is made when nothing is known of the arguments. */
function general(g: Generator, plan: CallPlan, args: readonly string[]): string {
  const [overload] = plan.overloads;
  if (overload !== undefined && plan.singleton) return `${g.constant(overload.implementation)}(${args.join(', ')})`;
  const sole = plan.overloads.length === 1 ? overload : undefined;
  const name = JSON.stringify(plan.name);
  const dispatched = `dispatch(${name}, ${g.constant(plan.overloads)}, [${args.join(', ')}])`;
  if (sole === undefined || sole.parameters.length !== args.length) return dispatched;
  const guards = sole.parameters.map((each, index) => guard(each, args[index] as string, plan.args[index] as Plan));
  if (guards.includes(undefined)) return dispatched;
  const condition = guards.filter((each) => each !== '').join(' && ');
  const direct = `${g.constant(sole.implementation)}(${args.join(', ')})`;
  return condition === '' ? direct : `${condition} ? ${direct} : ${dispatched}`;
}

/** A test that an argument is of a parameter's type: '' when it surely is, undefined when it takes more to tell. */
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
    default:
      return undefined;
  }
}

const RELATIONS: Readonly<Record<string, string>> = { '_<_': '<', '_<=_': '<=', '_>_': '>', '_>=_': '>=' };
const ARITHMETIC: Readonly<Record<string, string>> = { '_+_': '+', '_-_': '-', '_*_': '*' };

/** Sets `result` where two numbers or strings are at hand; leaves it undefined elsewhere. */
function inlineCall(g: Generator, plan: CallPlan, args: readonly string[], result: string): boolean {
  const [a, b] = args as [string, string];
  const relation = RELATIONS[plan.name];
  if (relation !== undefined && args.length === 2) {
    g.emit(`let ${result};`);
    // NaN is unequal to itself; it has no order, and the helper says so.
    const numbers = [a, b].map((each, index) => isNumber(each, plan.args[index] as Plan)).filter((each) => each !== '');
    g.emit(`if (${numbers.join(' && ') || 'true'}) ${result} = ${a} ${relation} ${b};`);
    return true;
  }
  const operator = ARITHMETIC[plan.name];
  if (operator !== undefined && args.length === 2) {
    g.emit(`let ${result};`);
    const sole = plan.overloads.length === 1 ? plan.overloads[0]?.id : undefined;
    if (sole === 'add_string')
      g.emit(`if (typeof ${a} === 'string' && typeof ${b} === 'string') ${result} = ${a} + ${b};`);
    else {
      const safe = `isSafe(${a}) && isSafe(${b}) && isSafe(${result} = ${a} ${operator} ${b})`;
      g.emit(`if (!(${safe})) ${result} = undefined;`);
      if (operator === '*') g.emit(`else ${result} += 0;`);
    }
    return true;
  }
  if (plan.name === '!_') {
    g.emit(`let ${result};`);
    g.emit(`if (typeof ${a} === 'boolean') ${result} = !${a};`);
    return true;
  }
  if (plan.name === '@in' && plan.singleton) {
    g.emit(`let ${result};`);
    g.emit(`if (typeof ${a} === 'string' && ${isJson(b)}) ${result} = ${containsKey(a, b, plan.args[0])};`);
    return true;
  }
  const [, pattern] = plan.args;
  if (plan.name === 'matches' && plan.singleton && pattern?.op === 'constant' && typeof pattern.value === 'string') {
    const regex = compileRegex(pattern.value);
    if (regex instanceof CelError) return false;
    g.emit(`let ${result};`);
    g.emit(`if (typeof ${a} === 'string') ${result} = ${g.constant(regex)}.test(${a});`);
    return true;
  }
  return false;
}

/** Whether an object of JSON has a key; a constant one is read like a field. */
function containsKey(key: string, container: string, plan: Plan | undefined): string {
  const constant = plan?.op === 'constant' ? plan.value : undefined;
  if (constant !== undefined && isInline(constant)) return `${container}[${JSON.stringify(constant)}] !== undefined`;
  return `Object.hasOwn(${container}, ${key})`;
}

function isNumber(argument: string, plan: Plan): string {
  if (plan.op === 'constant' && typeof plan.value === 'number' && !Number.isNaN(plan.value)) return '';
  return `typeof ${argument} === 'number' && ${argument} === ${argument}`;
}

/** The cost without an array for the arguments, where the function is a common one. */
function inlineCost(g: Generator, plan: CallPlan, args: readonly string[], result: string): string | undefined {
  const [a, b] = args as [string, string];
  const id = plan.overloads.length === 1 ? plan.overloads[0]?.id : undefined;
  switch (id) {
    case 'starts_with_string':
    case 'ends_with_string':
      return `Math.ceil(${textSize(g, a, plan.args[0])} * 0.1)`;
    case 'add_string': {
      // A string that is being built is not looked at: its size is the sum of its parts.
      const size = g.name('z');
      g.emit(`const ${size} = ${textSize(g, a, plan.args[0])} + ${textSize(g, b, plan.args[1])};`);
      g.sizes.set(result, size);
      return `Math.ceil(${size} * 0.1)`;
    }
    case 'matches_string': {
      const [, pattern] = plan.args;
      if (pattern?.op !== 'constant' || plan.cost !== matchCost) return undefined;
      return `Math.ceil((1 + ${textSize(g, a, plan.args[0])}) * 0.1) * ${Math.ceil(sizeOf(pattern.value) * 0.25)}`;
    }
    default:
      return undefined;
  }
}

function textSize(g: Generator, argument: string, plan: Plan | undefined): string {
  if (plan?.op === 'constant') return String(sizeOf(plan.value));
  return g.sizes.get(argument) ?? `codePoints(${argument})`;
}
