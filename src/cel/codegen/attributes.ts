/** Generates JavaScript for selections and indexing. */

import { ACCUMULATOR } from '../parse/builder.ts';
import type { AttributePlan, Plan, Qualifier } from '../plan/plan.ts';
import type { Value } from '../values.ts';
import type { Generator, Target } from './generator.ts';
import { localName, surcharge } from './generator.ts';
import { isInline, Step } from './runtime.ts';

/** The parts of the generator that attributes use. */
export interface Values {
  /**
   * Generates code for a plan and returns an expression for its value. `bare` omits the cost of an attribute's root.
   */
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

/** Returns the cost of the root: 1 for an attribute, 0 for a conditional, and 1 less for has(). */
function rootCost(plan: AttributePlan, bare: boolean): number {
  if (bare) return 0;
  return (plan.root.op === 'conditional' ? 0 : 1) - (plan.qualifiers.at(-1)?.test === true ? 1 : 0);
}

const charging = (target: Target, cost: number): Target => (cost === 0 ? target : surcharge(target, [String(cost)]));

/** A variable of the host, which may be absent or hold an error. */
interface HostVariable {
  readonly name: string;
  readonly offset: number;
}

/** Generates the value that a chain starts from. A host variable is checked only if the first step finds nothing. */
function root(
  g: Generator,
  values: Values,
  plan: AttributePlan,
  target: Target,
): { held: string; variable?: HostVariable } {
  const { root: from } = plan;
  // A loop variable is never an error, and an optional in one leaves the inline path.
  if (from.op === 'local' && from.local.lazy === undefined && from.local.name !== ACCUMULATOR) {
    return { held: localName(from.local.slot) };
  }
  if (from.op !== 'variable') {
    return { held: values.value(from, target, isNamed(from) || from.op === 'conditional') };
  }
  return { held: g.held(variable(from.name)), variable: { name: from.name, offset: from.node.offset } };
}

/** `variable` reads a variable of the host. Names on Object.prototype are looked up among own properties only. */
export function variable(name: string): string {
  const read = `V${member(name)}`;
  return name in Object.prototype ? `(Object.hasOwn(V, ${JSON.stringify(name)}) ? ${read} : undefined)` : read;
}

/** Returns `.name`, or a bracketed key if the name is not a JavaScript identifier; `?` needs a dot before brackets. */
const member = (name: string, dot = ''): string =>
  /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `${dot}[${JSON.stringify(name)}]`;

/** Generates a failure if the host has no value for the variable that a chain starts from. */
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
  /** The host variable that the step starts from, if it is the first step. */
  readonly start: HostVariable | undefined;
  /** Set for the first step: only the start of a chain may be an optional. */
  readonly first?: boolean;
}

/** Generates one step of a chain without `?`; returns the variable that holds the result. */
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
    // The operand is validated before the key is computed, as in cel-go.
    if (start !== undefined) checkRoot(g, operand, start, charging(target, costs));
    if (first) leaveOptional(g, operand, qualifier.computed, start);
    const failing = charging(target, costs + 1);
    const key = values.value(qualifier.computed, failing, true);
    g.emit(`let ${found} = ${inlineIndex(operand, key)};`);
    orElse(g, found, `${g.h.index}(${operand}, ${key}, ${g.literal(qualifier.node.offset)})`, failing);
    return found;
  }
  const site = siteOf(g, qualifier, start);
  // The step is not charged if there is no value to start from.
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
    // The field is read first: V8 then knows the shape of the object when its constructor is read.
    g.emit(`let ${found} = ${operand}?${member(qualifier.key as string, '.')};`);
    const none = `(${found} === undefined || ${operand}.constructor !== Object)`;
    g.failIf(`${none} && (${found} = ${picked}) instanceof ${g.h.NonValue}`, failing, found);
    return found;
  }
  g.emit(`let ${found} = ${inline(operand, qualifier.key as Value)};`);
  orElse(g, found, picked, failing);
  return found;
}

/** An empty optional needs no lookup: its key is not computed and cannot fail. The closures handle this case. */
function leaveOptional(g: Generator, operand: string, key: Plan, start: HostVariable | undefined): void {
  if (start === undefined && key.op !== 'local') {
    g.emit(`if (${operand} instanceof ${g.h.Optional}) ${g.h.bail}();`);
  }
}

const siteOf = (g: Generator, { key, node, strict }: Qualifier, start: HostVariable | undefined): string =>
  g.constant(new Step(key as Value, node.offset, strict, start));

/** Calls the helper if the inline path found nothing; an error of the helper is a failure. */
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
 * Generates a chain with `?`. `result` becomes an optional; with `use`, it becomes what `use` returns for the value
 * inside, or `none` for an absent value, without allocating an optional.
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

/** Generates one step of a chain after `?`; an absent value continues at `nothing`. */
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
  // The generated code supports plain values only; an optional in the data is left to the closures.
  if (first) g.emit(`if (${operand} instanceof ${g.h.Optional}) ${g.h.bail}();`);
  g.emit(`${found} = ${g.h.find}(${operand}, ${siteOf(g, qualifier, start)}, ${key});`);
  g.emit(`if (${found} === undefined) ${nothing()}`);
  g.failIf(`${found} instanceof ${g.h.NonValue}`, target, found);
  g.emit('}');
  return found;
}

/** Reports whether the root of a chain always is an optional. */
function isOptionalTyped(plan: Plan): boolean {
  if (plan.op === 'call')
    return plan.overloads.length > 0 && plan.overloads.every((each) => isOptionalName(each.result));
  return plan.op === 'or optional';
}

const isOptionalName = (type: { kind: string; name: string }): boolean =>
  type.kind === 'opaque' && type.name === 'optional_type';

/** `endsOptional` reports whether an attribute ends in an optional, so that `orValue` need not allocate it. */
export const endsOptional = (plan: Plan): plan is AttributePlan =>
  plan.op === 'attribute' && isOptionalChain(plan) && plan.qualifiers.at(-1)?.test !== true;
