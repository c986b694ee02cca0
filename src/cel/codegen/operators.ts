/** Inline JavaScript for operators and the most common functions, for arguments of the usual types. */
import { sizeOf } from '../cost/size.ts';
import { textPass } from '../library/estimate.ts';
import type { CallPlan, Plan } from '../plan/plan.ts';
import { firstTraversal, matchCost } from '../standard/costs.ts';
import { compileRegex } from '../standard/regex.ts';
import { CelError } from '../values.ts';
import { isJson } from './attributes.ts';
import type { Generator } from './generator.ts';
import { isInline } from './runtime.ts';

const RELATIONS: Readonly<Record<string, string>> = { '_<_': '<', '_<=_': '<=', '_>_': '>', '_>=_': '>=' };
const ARITHMETIC: Readonly<Record<string, string>> = { '_+_': '+', '_-_': '-', '_*_': '*' };

/**
 * Sets `result` if the arguments have the usual types, else leaves it undefined. Returns false if there is no inline
 * form.
 */
export function inlineCall(g: Generator, plan: CallPlan, args: readonly string[], result: string): boolean {
  const [a, b] = args as [string, string];
  const [first, second] = plan.args as [Plan, Plan];
  const relation = RELATIONS[plan.name];
  if (relation !== undefined && args.length === 2) {
    // NaN is unequal to itself and has no order; the helper reports the error.
    return when(g, result, [isNumber(a, first), isNumber(b, second)], `${a} ${relation} ${b}`);
  }
  const operator = ARITHMETIC[plan.name];
  if (operator !== undefined && args.length === 2) return arithmetic(g, plan, operator, args, result);
  switch (plan.name) {
    case '!_':
      return when(g, result, [`typeof ${a} === 'boolean'`], `!${a}`);
    case '@in':
      if (!plan.singleton) return false;
      return when(g, result, [isText(a, first), isJson(b)], containsKey(a, b, first));
    case 'size':
      return plan.singleton && args.length === 1 && when(g, result, [`Array.isArray(${a})`], `${a}.length`);
    case 'string':
      return args.length === 1 && when(g, result, [`${g.h.isSafe}(${a})`], `String(${a})`);
    case 'matches':
      return plan.singleton && matchInline(g, second, a, first, result);
    default:
      return false;
  }
}

function when(g: Generator, result: string, conditions: readonly string[], value: string): boolean {
  const condition = conditions.filter((each) => each !== '').join(' && ');
  g.emit(`let ${result} = ${condition === '' ? value : `${condition} ? ${value} : undefined`};`);
  return true;
}

function arithmetic(
  g: Generator,
  plan: CallPlan,
  operator: string,
  [a, b]: readonly string[],
  result: string,
): boolean {
  const [first, second] = plan.args as [Plan, Plan];
  if (soleId(plan) === 'add_string') {
    return when(g, result, [isText(a as string, first), isText(b as string, second)], `${a} + ${b}`);
  }
  const { isSafe } = g.h;
  g.emit(`let ${result};`);
  g.emit(
    `if (!(${isSafe}(${a}) && ${isSafe}(${b}) && ${isSafe}(${result} = ${a} ${operator} ${b}))) ${result} = undefined;`,
  );
  if (operator === '*') g.emit(`else ${result} += 0;`);
  return true;
}

function matchInline(g: Generator, pattern: Plan, text: string, plan: Plan, result: string): boolean {
  if (pattern?.op !== 'constant' || typeof pattern.value !== 'string') return false;
  const regex = compileRegex(pattern.value);
  if (regex instanceof CelError) return false;
  return when(g, result, [isText(text, plan)], `${g.constant(regex)}.test(${text})`);
}

/** Reports whether a JSON object has a key; a constant key is read like a field. */
function containsKey(key: string, container: string, plan: Plan): string {
  const constant = plan.op === 'constant' ? plan.value : undefined;
  if (constant !== undefined && isInline(constant)) return `${container}[${JSON.stringify(constant)}] !== undefined`;
  return `Object.hasOwn(${container}, ${key})`;
}

function isNumber(argument: string, plan: Plan): string {
  if (plan.op === 'constant' && typeof plan.value === 'number' && !Number.isNaN(plan.value)) return '';
  return `typeof ${argument} === 'number' && ${argument} === ${argument}`;
}

function isText(argument: string, plan: Plan): string {
  if (plan.op === 'constant' && typeof plan.value === 'string') return '';
  return `typeof ${argument} === 'string'`;
}

const soleId = (plan: CallPlan): string | undefined =>
  plan.overloads.length === 1 ? plan.overloads[0]?.id : undefined;

/** Computes the cost of a common function without allocating an array for the arguments. */
export function inlineCost(g: Generator, plan: CallPlan, args: readonly string[], result: string): string | undefined {
  const [a, b] = args as [string, string];
  const [first, second] = plan.args as [Plan, Plan];
  if (soleId(plan) === 'add_string') {
    // A string under construction is not measured: its size is the sum of its parts.
    const size = g.name('z');
    g.emit(`const ${size} = ${textSize(g, a, first)} + ${textSize(g, b, second)};`);
    g.sizes.set(result, size);
    return `Math.ceil(${size} * 0.1)`;
  }
  const parameter = plan.overloads.length === 1 ? plan.overloads[0]?.parameters[0] : undefined;
  if (parameter?.kind === 'string' && (plan.cost === firstTraversal || plan.cost === textPass.cost)) {
    return `Math.ceil(${textSize(g, a, first)} * 0.1)`;
  }
  if (plan.cost === matchCost && second?.op === 'constant') {
    return `Math.ceil((1 + ${textSize(g, a, first)}) * 0.1) * ${g.literal(Math.ceil(sizeOf(second.value) * 0.25))}`;
  }
  return undefined;
}

function textSize(g: Generator, argument: string, plan: Plan | undefined): string {
  if (plan?.op === 'constant') return g.literal(sizeOf(plan.value));
  return g.sizes.get(argument) ?? `${g.h.codePoints}(${argument})`;
}
