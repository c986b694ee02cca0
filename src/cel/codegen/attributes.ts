/** Selections and indexing as JavaScript. */

import { ACCUMULATOR } from '../parse/builder.ts';
import type { AttributePlan, Plan, Qualifier } from '../plan/plan.ts';
import { CelError, type Value } from '../values.ts';
import type { Generator, Target } from './generator.ts';
import { localName, surcharge } from './generator.ts';

/** How the rest of the generator is reached from here. */
export interface Values {
  /** Code for a plan; answers an expression for its value. `bare` leaves out the cost of an attribute's root. */
  value(plan: Plan, target: Target, bare?: boolean): string;
}

const isNamed = (plan: Plan): boolean => plan.op === 'variable' || plan.op === 'local';

const isOptionalChain = (plan: AttributePlan): boolean => plan.qualifiers.some((each) => each.optional);

export function attribute(g: Generator, values: Values, plan: AttributePlan, target: Target, bare: boolean): string {
  if (isOptionalChain(plan) || isOptionalTyped(plan.root)) {
    const result = g.name();
    g.emit(`let ${result};`);
    optionalAttribute(g, values, plan, target, bare, result);
    return result;
  }
  const costs = rootCost(plan, bare);
  const from = root(g, values, plan, charging(target, costs));
  let operand = from.held;
  plan.qualifiers.forEach((qualifier, index) => {
    operand = step(
      g,
      values,
      qualifier,
      operand,
      charging(target, index + 1 + costs),
      index === 0 ? from.check : NOTHING,
    );
  });
  g.charge(plan.qualifiers.length + costs);
  return operand;
}

/** The root of an attribute costs 1, of a conditional nothing; has() takes 1 off. */
function rootCost(plan: AttributePlan, bare: boolean): number {
  if (bare) return 0;
  return (plan.root.op === 'conditional' ? 0 : 1) - (plan.qualifiers.at(-1)?.test === true ? 1 : 0);
}

const charging = (target: Target, cost: number): Target => (cost === 0 ? target : surcharge(target, [String(cost)]));

const NOTHING = (): void => {};

/**
 * The value a chain starts from. The host may have left a variable out or put an error there: `check` looks for
 * that, and is written only where the inline path has already found nothing.
 */
function root(g: Generator, values: Values, plan: AttributePlan, target: Target): { held: string; check: () => void } {
  const { root: from } = plan;
  // A variable of a loop is never an error, and an optional in one ends the inline path.
  if (from.op === 'local' && from.local.lazy === undefined && from.local.name !== ACCUMULATOR) {
    return { held: localName(from.local.slot), check: NOTHING };
  }
  if (from.op !== 'variable') {
    return { held: values.value(from, target, isNamed(from) || from.op === 'conditional'), check: NOTHING };
  }
  const held = g.name();
  const name = JSON.stringify(from.name);
  g.emit(`const ${held} = ${variable(from.name)};`);
  const check = (): void => {
    g.failIf(`${held} === undefined`, target, `at(undeclared(${name}), ${from.node.offset})`);
    g.failIf(`${held} instanceof NonValue`, target, `readAt(${held}, ${from.node.offset})`);
  };
  return { held, check };
}

/** A variable of the host; a name that every object has is looked for among its own. */
export function variable(name: string): string {
  const read = `V[${JSON.stringify(name)}]`;
  return name in Object.prototype ? `(Object.hasOwn(V, ${JSON.stringify(name)}) ? ${read} : undefined)` : read;
}

/** One step of a chain without `?`; answers the variable that holds what was found. */
function step(
  g: Generator,
  values: Values,
  qualifier: Qualifier,
  operand: string,
  target: Target,
  check: () => void,
): string {
  const found = g.name();
  const otherwise = (call: string, inJson = false): void => {
    g.emit(`if (${found} === undefined) {`);
    if (inJson) {
      g.failIf(isJson(operand), target, missingKey(g, qualifier.key as string, qualifier.node.offset));
    }
    check();
    g.emit(`${found} = ${call};`);
    g.failIf(`${found} instanceof NonValue`, target, `at(${found}, ${qualifier.node.offset})`);
    g.emit('}');
  };
  if (qualifier.test) {
    g.emit(`let ${found} = (${inline(operand, qualifier.key as Value)}) !== undefined ? true : undefined;`);
    otherwise(`has(${operand}, ${JSON.stringify(qualifier.key)}, ${qualifier.strict})`);
  } else if (qualifier.computed === undefined) {
    const { key } = qualifier;
    g.emit(`let ${found} = ${inline(operand, key as Value)};`);
    if (typeof key === 'string') otherwise(`select(${operand}, ${JSON.stringify(key)})`, isInline(key));
    else otherwise(`index(${operand}, ${g.constant(key)})`);
  } else {
    // What is indexed is known good before the key is computed, as in cel-go.
    check();
    const key = values.value(qualifier.computed, target, true);
    g.emit(`let ${found} = ${inlineIndex(operand, key)};`);
    g.emit(`if (${found} === undefined) { ${found} = index(${operand}, ${key});`);
    g.failIf(`${found} instanceof NonValue`, target, `at(${found}, ${qualifier.node.offset})`);
    g.emit('}');
  }
  return found;
}

/**
 * A field of an object of JSON, or undefined. Own properties only: `constructor` tells an object of JSON from
 * everything else, and names that Object.prototype has are left to the helper.
 */
function inline(operand: string, key: Value): string {
  if (typeof key === 'number' && Number.isSafeInteger(key) && key >= 0) {
    return `Array.isArray(${operand}) ? ${operand}[${key}] : undefined`;
  }
  return isInline(key) ? `${isJson(operand)} ? ${operand}[${JSON.stringify(key)}] : undefined` : 'undefined';
}

/** Names that the inline path covers: with one of these, what it does not find in an object of JSON is not there. */
export const isInline = (key: Value): key is string => typeof key === 'string' && !(key in Object.prototype);

export const isJson = (operand: string): string => `${operand} != null && ${operand}.constructor === Object`;

/** The error for a key that an object of JSON does not have: the same each time, so it is made once. */
function missingKey(g: Generator, key: string, offset: number): string {
  const error = new CelError('no_such_key', `no such key: ${key}`);
  error.offset = offset;
  return g.constant(error);
}

const inlineIndex = (operand: string, key: string): string =>
  `typeof ${key} === 'number' && ${key} >= 0 && Array.isArray(${operand}) ? ${operand}[${key}] : undefined`;

/**
 * A chain with `?`: `result` becomes an optional, or with `use` what `use` makes of the value inside and `none` of
 * its absence, without an optional ever being made.
 */
export function optionalAttribute(
  g: Generator,
  values: Values,
  plan: AttributePlan,
  target: Target,
  bare: boolean,
  result: string,
  use?: { some(value: string): void; none(): void },
): void {
  const costs = rootCost(plan, bare);
  const test = plan.qualifiers.at(-1)?.test === true;
  const from = root(g, values, plan, charging(target, costs));
  let operand = from.held;
  // What the root is not meant to be is looked for where the first step finds nothing.
  let check = from.check;
  if (plan.qualifiers[0]?.computed !== undefined || isOptionalTyped(plan.root)) {
    check();
    check = NOTHING;
  }
  let optional = false;
  const end = g.name('L');
  const inner = g.name();
  const root0 = operand;
  g.flush();
  g.emit(`let ${inner}; ${end}: {`);
  if (isOptionalTyped(plan.root)) {
    g.emit(`if (!(${operand} instanceof Optional)) bail(); const ${inner}o = inside(${operand});`);
    g.failIf(`${inner}o instanceof NonValue`, charging(target, costs), `${inner}o`);
    g.emit(`if (${inner}o === undefined) { ${g.owed([String(costs)])}break ${end}; }`);
    operand = `${inner}o`;
    optional = true;
  }
  const checkRoot = (): void => {
    check();
    if (!isOptionalTyped(plan.root)) g.emit(`if (${root0} instanceof Optional) bail();`);
  };
  for (const [index, qualifier] of plan.qualifiers.entries()) {
    optional ||= qualifier.optional;
    const first = index === 0 ? checkRoot : NOTHING;
    const failing = charging(target, costs + (optional ? 0 : 1));
    if (!optional || qualifier.test) {
      operand = step(g, values, qualifier, operand, failing, first);
      if (optional && qualifier.test) g.emit(`if (${operand} === false) { ${g.owed([String(costs)])}break ${end}; }`);
      g.charge(1);
      continue;
    }
    const key = keyOf(g, values, qualifier, failing);
    const found = g.name();
    const path = qualifier.computed === undefined ? inline(operand, qualifier.key as Value) : inlineIndex(operand, key);
    g.emit(`let ${found} = ${path};`);
    const nothing = `{ ${g.owed([String(costs)])}break ${end}; }`;
    g.emit(`if (${found} === undefined) {`);
    if (qualifier.computed === undefined && isInline(qualifier.key as Value))
      g.emit(`if (${isJson(operand)}) ${nothing}`);
    first();
    g.emit(`${found} = find(${operand}, ${key}, ${qualifier.strict}); if (${found} === undefined) ${nothing}`);
    g.failIf(`${found} instanceof NonValue`, failing, `at(${found}, ${qualifier.node.offset})`);
    g.emit('}');
    g.charge(1);
    operand = found;
  }
  g.charge(costs);
  g.flush();
  g.emit(`${inner} = ${operand}; }`);
  if (use !== undefined) {
    g.emit(`if (${inner} !== undefined) {`);
    use.some(inner);
    g.flush();
    g.emit('} else {');
    use.none();
    g.flush();
    g.emit('}');
  } else if (test) g.emit(`${result} = ${inner} !== undefined;`);
  else g.emit(`${result} = ${inner} === undefined ? none : new Optional(${inner});`);
}

function keyOf(g: Generator, values: Values, qualifier: Qualifier, target: Target): string {
  if (qualifier.computed !== undefined) return values.value(qualifier.computed, target, true);
  return typeof qualifier.key === 'string' ? JSON.stringify(qualifier.key) : g.constant(qualifier.key);
}

/** Whether the root of a chain is an optional by its very making. */
function isOptionalTyped(plan: Plan): boolean {
  if (plan.op === 'call')
    return plan.overloads.length > 0 && plan.overloads.every((each) => isOptionalName(each.result));
  return plan.op === 'or optional';
}

const isOptionalName = (type: { kind: string; name: string }): boolean =>
  type.kind === 'opaque' && type.name === 'optional_type';

/** Whether an attribute ends in an optional, so that `orValue` can do without making it. */
export const endsOptional = (plan: Plan): plan is AttributePlan =>
  plan.op === 'attribute' && isOptionalChain(plan) && plan.qualifiers.at(-1)?.test !== true;
