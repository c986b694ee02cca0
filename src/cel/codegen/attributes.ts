/** Selections and indexing as JavaScript. */

import { ACCUMULATOR } from '../parse/builder.ts';
import type { AttributePlan, Plan, Qualifier } from '../plan/plan.ts';
import type { Value } from '../values.ts';
import type { Generator, Target } from './generator.ts';
import { localName, surcharge } from './generator.ts';
import { isInline, Step } from './runtime.ts';

/** The parts of the generator that attributes use. */
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
    const start = index === 0 ? from.variable : undefined;
    operand = step(g, values, qualifier, operand, target, { costs: costs + index, start, first: index === 0 });
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

/** A variable of the host, which may have left it out or put an error there. */
interface HostVariable {
  readonly name: string;
  readonly offset: number;
}

/** The value a chain starts from; a variable of the host is looked at where the first step finds nothing. */
function root(
  g: Generator,
  values: Values,
  plan: AttributePlan,
  target: Target,
): { held: string; variable?: HostVariable } {
  const { root: from } = plan;
  // A variable of a loop is never an error, and an optional in one ends the inline path.
  if (from.op === 'local' && from.local.lazy === undefined && from.local.name !== ACCUMULATOR) {
    return { held: localName(from.local.slot) };
  }
  if (from.op !== 'variable') {
    return { held: values.value(from, target, isNamed(from) || from.op === 'conditional') };
  }
  return { held: g.held(variable(from.name)), variable: { name: from.name, offset: from.node.offset } };
}

/** A variable of the host; a name that every object has is looked for among its own. */
export function variable(name: string): string {
  const read = `V${member(name)}`;
  return name in Object.prototype ? `(Object.hasOwn(V, ${JSON.stringify(name)}) ? ${read} : undefined)` : read;
}

/** `.name`, or in brackets what JavaScript would not take as one; after `?` those take a dot as well. */
const member = (name: string, dot = ''): string =>
  /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `${dot}[${JSON.stringify(name)}]`;

/** Fails where the host has no value for the variable that a chain starts from. */
function checkRoot(g: Generator, held: string, { name, offset }: HostVariable, target: Target): void {
  g.failIf(
    `${g.h.reached}(${held}) === 0`,
    target,
    `${g.h.lost}(${held}, ${JSON.stringify(name)}, ${g.literal(offset)})`,
  );
}

interface StepContext {
  /** The cost that is already charged when the step starts. */
  readonly costs: number;
  /** Where the step is the first, from a variable of the host. */
  readonly start: HostVariable | undefined;
  /** Only what a chain starts from may be an optional. */
  readonly first?: boolean;
}

/** One step of a chain without `?`; answers the variable that holds what was found. */
function step(
  g: Generator,
  values: Values,
  qualifier: Qualifier,
  operand: string,
  target: Target,
  { costs, start, first = false }: StepContext,
): string {
  const found = g.name();
  if (qualifier.computed !== undefined) {
    // What is indexed is known good before the key is computed, as in cel-go.
    if (start !== undefined) checkRoot(g, operand, start, charging(target, costs));
    if (first) leaveOptional(g, operand, qualifier.computed, start);
    const failing = charging(target, costs + 1);
    const key = values.value(qualifier.computed, failing, true);
    g.emit(`let ${found} = ${inlineIndex(operand, key)};`);
    orElse(g, found, `${g.h.index}(${operand}, ${key}, ${g.literal(qualifier.node.offset)})`, failing);
    return found;
  }
  const site = siteOf(g, qualifier, start);
  // Without a value to start from, the step is not charged.
  const failing =
    start === undefined
      ? charging(target, costs + 1)
      : surcharge(target, [String(costs), `${g.h.reached}(${operand})`]);
  if (qualifier.test) {
    g.emit(
      `const ${found} = (${inline(operand, qualifier.key as Value)}) !== undefined || ${g.h.has}(${operand}, ${site});`,
    );
    g.failIf(`typeof ${found} === 'object'`, failing, found);
    return found;
  }
  const picked = `${g.h.pick}(${operand}, ${site})`;
  if (isInline(qualifier.key as Value)) {
    // Read first: then V8 knows the shape of the object when it is asked for its constructor.
    g.emit(`let ${found} = ${operand}?${member(qualifier.key as string, '.')};`);
    const none = `(${found} === undefined || ${operand}.constructor !== Object)`;
    g.failIf(`${none} && (${found} = ${picked}) instanceof ${g.h.NonValue}`, failing, found);
    return found;
  }
  g.emit(`let ${found} = ${inline(operand, qualifier.key as Value)};`);
  orElse(g, found, picked, failing);
  return found;
}

/**
 * Nothing is looked up in an optional that holds nothing: its key is not computed and cannot fail. That is the
 * closures' affair.
 */
function leaveOptional(g: Generator, operand: string, key: Plan, start: HostVariable | undefined): void {
  if (start === undefined && key.op !== 'local') {
    g.emit(`if (${operand} instanceof ${g.h.Optional}) ${g.h.bail}();`);
  }
}

const siteOf = (g: Generator, { key, node, strict }: Qualifier, start: HostVariable | undefined): string =>
  g.constant(new Step(key as Value, node.offset, strict, start));

/** Where the inline path found nothing, what the helper finds; an error there is a failure. */
function orElse(g: Generator, found: string, helper: string, target: Target): void {
  g.failIf(`${found} === undefined && (${found} = ${helper}) instanceof ${g.h.NonValue}`, target, found);
}

/**
 * Reads a field of a JSON object, or undefined. Own properties only: `constructor` distinguishes a JSON object from
 * everything else, and names that Object.prototype has are left to the helper.
 */
function inline(operand: string, key: Value): string {
  if (typeof key === 'number' && Number.isSafeInteger(key) && key >= 0) {
    return `Array.isArray(${operand}) ? ${operand}[${key}] : undefined`;
  }
  return isInline(key) ? `${isJson(operand)} ? ${operand}${member(key)} : undefined` : 'undefined';
}

export const isJson = (operand: string): string => `${operand}?.constructor === Object`;

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
  let optional = false;
  const end = g.name('L');
  const inner = g.name();
  g.flush();
  g.emit(`let ${inner}; ${end}: {`);
  if (isOptionalTyped(plan.root)) {
    g.emit(`if (!(${operand} instanceof ${g.h.Optional})) ${g.h.bail}();`);
    g.emit(`const ${inner}o = ${g.h.inside}(${operand});`);
    g.failIf(`${inner}o instanceof ${g.h.NonValue}`, charging(target, costs), `${inner}o`);
    g.emit(`if (${inner}o === undefined) { ${g.owed([String(costs)])}break ${end}; }`);
    operand = `${inner}o`;
    optional = true;
  }
  for (const [index, qualifier] of plan.qualifiers.entries()) {
    optional ||= qualifier.optional;
    const start = index === 0 ? from.variable : undefined;
    const nothing = (): string => `{ ${g.owed([String(costs)])}break ${end}; }`;
    if (!optional || qualifier.test) {
      // A step that fails under `?` is not charged.
      operand = step(g, values, qualifier, operand, target, { costs: costs - (optional ? 1 : 0), start });
      if (optional && qualifier.test) g.emit(`if (${operand} === false) ${nothing()}`);
    } else {
      const first = index === 0 && !isOptionalTyped(plan.root);
      operand = optionalStep(g, values, qualifier, operand, charging(target, costs), { start, first }, nothing);
    }
    g.charge(1);
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
  else g.emit(`${result} = ${inner} === undefined ? ${g.h.none} : new ${g.h.Optional}(${inner});`);
}

/** One step of a chain after `?`: with nothing there, control goes where `nothing` says. */
function optionalStep(
  g: Generator,
  values: Values,
  qualifier: Qualifier,
  operand: string,
  target: Target,
  { start, first }: { start: HostVariable | undefined; first: boolean },
  nothing: () => string,
): string {
  const { computed } = qualifier;
  if (computed !== undefined && start !== undefined) checkRoot(g, operand, start, target);
  if (computed !== undefined && first) leaveOptional(g, operand, computed, start);
  const key = computed === undefined ? g.literal(qualifier.key) : values.value(computed, target, true);
  const found = g.name();
  const path = computed === undefined ? inline(operand, qualifier.key as Value) : inlineIndex(operand, key);
  g.emit(`let ${found} = ${path};`);
  g.emit(`if (${found} === undefined) {`);
  if (computed === undefined && isInline(qualifier.key as Value)) g.emit(`if (${isJson(operand)}) ${nothing()}`);
  // Code is made for values here; an optional that the data holds is the closures' affair.
  if (first) g.emit(`if (${operand} instanceof ${g.h.Optional}) ${g.h.bail}();`);
  g.emit(`${found} = ${g.h.find}(${operand}, ${siteOf(g, qualifier, start)}, ${key});`);
  g.emit(`if (${found} === undefined) ${nothing()}`);
  g.failIf(`${found} instanceof ${g.h.NonValue}`, target, found);
  g.emit('}');
  return found;
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
