/** Generates JavaScript for loops: one loop over an array of the elements, or of the keys of a map. */
import type { FoldPlan, Plan } from '../plan/plan.ts';
import { isMap } from '../values.ts';
import type { Values } from './attributes.ts';
import { block, canFail, type Generator, isBoolean, localName, type Target } from './generator.ts';

export function fold(g: Generator, values: Values, plan: FoldPlan, target: Target): string {
  const range = values.value(plan.range, target);
  const items = g.name('r');
  const index = g.name('i');
  const accumulator = localName(plan.accumulator.slot);
  g.flush();
  g.emit(
    `const ${items} = Array.isArray(${range}) ? ${range} : ${g.h.keys}(${range}, ${g.literal(plan.range.node.offset)});`,
  );
  g.failIf(`${items} instanceof ${g.h.NonValue}`, target, items);
  g.emit(`let ${accumulator} = ${initial(g, plan.initial)};`);
  g.emit(`for (let ${index} = 0; ${index} < ${items}.length; ${index}++) {`);
  g.loops = true;
  g.emit(`if (cost > ask) ask = ${g.h.pause}(S, limit, interrupt, cost);`);
  bind(g, plan, range, items, index);
  turn(g, values, plan, accumulator);
  g.flush();
  g.emit('}');
  return result(g, values, plan, target, accumulator);
}

function bind(g: Generator, plan: FoldPlan, range: string, items: string, index: string): void {
  const first = localName(plan.variable.slot);
  if (plan.variable2 === undefined) {
    g.emit(`const ${first} = ${items}[${index}];`);
    return;
  }
  const second = localName(plan.variable2.slot);
  g.emit(`const ${first} = ${items} === ${range} ? ${index} : ${items}[${index}];`);
  g.emit(`const ${second} = ${items} === ${range} ? ${items}[${index}] : ${g.h.lookup}(${range}, ${first});`);
}

/** Returns a new accumulator, because lists and maps are appended to in place. */
function initial(g: Generator, plan: Plan): string {
  const value = plan.op === 'constant' ? plan.value : undefined;
  if (Array.isArray(value)) return '[]';
  if (value !== undefined && isMap(value)) return `new ${g.h.MapBuilder}()`;
  return value === undefined ? 'undefined' : g.literal(value);
}

function turn(g: Generator, values: Values, plan: FoldPlan, accumulator: string): void {
  const quantifier = quantifierOf(plan);
  if (quantifier !== undefined) {
    const stop = quantifier.op === 'or';
    // The condition reads the accumulator and calls @not_strictly_false; `exists` also applies `!`.
    g.emit(`cost += ${stop ? 3 : 2};`);
    g.emit(`if (${accumulator} === ${stop}) break;`);
    g.charge(1);
    term(g, values, quantifier.predicate, accumulator, stop, plan.step.node.offset);
    return;
  }
  if (!(plan.condition.op === 'constant' && plan.condition.value === true)) {
    const holds = g.name();
    g.emit(`let ${holds};`);
    block(g, holds, (inner) => values.value(plan.condition, inner));
    g.emit(`if (${holds} === false) break;`);
  }
  block(g, accumulator, (inner) => values.value(plan.step, inner));
}

interface Quantifier {
  readonly op: 'and' | 'or';
  readonly predicate: Plan;
}

/** Recognizes `all` and `exists` by the shape of their expanded macros. */
function quantifierOf(plan: FoldPlan): Quantifier | undefined {
  const { step, condition } = plan;
  if ((step.op !== 'and' && step.op !== 'or') || step.terms.length !== 2 || condition.op !== 'notFalse')
    return undefined;
  const [first, predicate] = step.terms as [Plan, Plan];
  const reads = (each: Plan | undefined): boolean => each?.op === 'local' && each.local === plan.accumulator;
  if (!reads(first)) return undefined;
  const { operand } = condition;
  const fits =
    step.op === 'and' ? reads(operand) : operand.op === 'call' && operand.name === '!_' && reads(operand.args[0]);
  return fits ? { op: step.op, predicate } : undefined;
}

/** `term` merges one term of `&&` (`stop` false) or `||` (`stop` true) into `result`. */
export function term(g: Generator, values: Values, plan: Plan, result: string, stop: boolean, offset: number): void {
  const label = g.name('L');
  const target: Target = {
    fail: (error, costs) =>
      `${g.owed(costs)}${result} = ${g.h.absorb}(${result}, ${error}, ${g.literal(offset)}); break ${label};`,
  };
  const fallible = canFail(plan);
  if (fallible) g.emit(`${label}: {`);
  const value = values.value(plan, target);
  g.flush();
  const decided = stop ? value : value === 'true' ? 'false' : `!${value}`;
  if (isBoolean(plan)) g.emit(`if (${decided}) ${result} = ${stop};`);
  else {
    const held = g.name();
    g.emit(`const ${held} = ${value};`);
    g.emit(`if (${held} === ${stop}) ${result} = ${stop};`);
    g.emit(`else if (${held} !== ${!stop}) ${result} = ${g.h.absorb}(${result}, ${held}, ${g.literal(offset)});`);
  }
  if (fallible) g.emit('}');
}

function result(g: Generator, values: Values, plan: FoldPlan, target: Target, accumulator: string): string {
  const { result: last } = plan;
  if (last.op !== 'local' || last.local !== plan.accumulator) return values.value(last, target);
  g.charge(1);
  g.failIf(`${accumulator} instanceof ${g.h.NonValue}`, target, accumulator);
  const builds = plan.initial.op === 'constant' && isMap(plan.initial.value);
  return builds ? `${accumulator}.finish()` : accumulator;
}
