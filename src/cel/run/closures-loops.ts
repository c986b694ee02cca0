/** Closures of loops, and of the steps that extend the accumulator. */
import { mapEntries } from '../map.ts';
import type { AppendPlan, FoldPlan, InsertPlan } from '../plan/plan.ts';
import { isMap, NonValue, noSuchOverload, type Result, type Value } from '../values.ts';
import { MapBuilder } from './builders.ts';
import type { Closure, Compile } from './closure.ts';
import { at } from './frame.ts';

export function foldClosure(plan: FoldPlan, compile: Compile): Closure {
  const range = compile(plan.range);
  const initial = compile(plan.initial);
  const condition = compile(plan.condition);
  const step = compile(plan.step);
  const result = compile(plan.result);
  const accumulator = plan.accumulator.slot;
  const first = plan.variable.slot;
  const second = plan.variable2?.slot;
  const { offset } = plan.range.node;
  return (frame) => {
    const over = range(frame);
    if (over instanceof NonValue) return over;
    const { locals } = frame;
    locals[accumulator] = fresh(initial(frame));
    /** Runs one iteration; returns false to end the loop. */
    const turn = (): boolean => {
      frame.tick();
      if (condition(frame) === false) return false;
      locals[accumulator] = step(frame);
      return true;
    };
    if (Array.isArray(over)) {
      for (let index = 0; index < over.length; index++) {
        locals[first] = second === undefined ? over[index] : index;
        if (second !== undefined) locals[second] = over[index];
        if (!turn()) break;
      }
    } else if (isMap(over)) {
      for (const [key, value] of mapEntries(over)) {
        locals[first] = key;
        if (second !== undefined) locals[second] = value;
        if (!turn()) break;
      }
    } else {
      return at(noSuchOverload('expected iterable type'), offset);
    }
    const made: unknown = result(frame);
    return made instanceof MapBuilder ? made.finish() : (made as Result);
  };
}

/** Returns an accumulator that may be extended in place: never the constant of the plan. */
function fresh(initial: Result): Result {
  if (Array.isArray(initial)) return [...initial];
  return isMap(initial) ? (new MapBuilder() as unknown as Result) : initial;
}

/** The step of map and filter: it appends to the list in place. */
export function appendClosure(plan: AppendPlan, compile: Compile): Closure {
  const accumulator = compile(plan.accumulator);
  const addition = compile(plan.addition);
  return (frame) => {
    const list = accumulator(frame);
    const added = addition(frame);
    frame.cost++;
    if (list instanceof NonValue) return list;
    if (added instanceof NonValue) return added;
    for (const each of added as readonly Value[]) (list as Value[]).push(each);
    return list;
  };
}

/** The step of transformMap and others: it inserts an entry, or all entries of a map. */
export function insertClosure(plan: InsertPlan, compile: Compile): Closure {
  const args = plan.args.map((each) => compile(each));
  const { slot } = plan.accumulator.local;
  const { offset } = plan.node;
  return (frame) => {
    frame.cost++;
    const builder = frame.locals[slot] as MapBuilder | NonValue;
    if (builder instanceof NonValue) {
      // Two arguments are both evaluated; three stop at the first failure.
      if (args.length === 1) args[0]?.(frame);
      if (args.length === 1) frame.cost++;
      return builder;
    }
    const values: Value[] = [];
    for (const argument of args) {
      const value = argument(frame);
      if (value instanceof NonValue) {
        if (values.length === args.length - 1) frame.cost++;
        return value;
      }
      values.push(value);
    }
    frame.cost++;
    const [first, second] = values as [Value, Value?];
    const failed = args.length === 1 ? builder.merge(first) : builder.insert(first, second as Value);
    return failed === undefined ? (builder as unknown as Result) : at(failed, offset);
  };
}
