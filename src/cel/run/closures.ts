/**
 * Plan → closures: the back end for where code may not be generated, and the one that explain watches.
 * Every closure answers a value, an error or an unknown, and charges what cel-go charges for the same step.
 */
import { equalOrError } from '../compare.ts';
import { LIST_CREATE, MAP_CREATE, STRUCT_CREATE } from '../cost/size.ts';
import { mapEntries, setOwn } from '../map.ts';
import { dispatch } from '../plan/dispatch.ts';
import { makeMap, optionalElement } from '../plan/fold.ts';
import type {
  AttributePlan,
  CallPlan,
  ConditionalPlan,
  EqualityPlan,
  FoldPlan,
  ListPlan,
  Local,
  LogicPlan,
  MapPlan,
  Plan,
  Program,
  Qualifier,
  StructPlan,
} from '../plan/plan.ts';
import { memberKey } from '../plan/planner.ts';
import { compareCost, equalityCost } from '../standard/costs.ts';
import { CelError, isMap, NonValue, noSuchOverload, Optional, type Result, type Value } from '../values.ts';
import { hasField, isContainer, lookup, missing } from './access.ts';
import { MapBuilder } from './builders.ts';
import { at, type Frame, readAt, undeclared } from './frame.ts';
import { absorb, badCondition } from './logic.ts';
import { inside, reread } from './optionals.ts';

export type Closure = (frame: Frame) => Result;

/** Sees the result of every step, as it happens. */
export type Observer = (plan: Plan | Qualifier, result: Result) => void;

export function compileClosures(program: Program, observer?: Observer): Closure {
  return new ClosureCompiler(observer).compile(program.plan);
}

const UNSET = Symbol('unset');

class ClosureCompiler {
  readonly #observer: Observer | undefined;

  constructor(observer: Observer | undefined) {
    this.#observer = observer;
  }

  compile(plan: Plan): Closure {
    return this.#watch(plan, this.#full(plan));
  }

  /**
   * An attribute where another one resolves it (a branch of `?:`, a computed key): then cel-go does not charge for
   * the variable at its root.
   */
  #bare(plan: Plan): Closure {
    switch (plan.op) {
      case 'variable':
      case 'local':
        return this.#watch(plan, this.#read(plan));
      case 'attribute':
        return this.#watch(plan, this.#attribute(plan, true));
      default:
        return this.compile(plan);
    }
  }

  #watch(plan: Plan, closure: Closure): Closure {
    const observer = this.#observer;
    if (observer === undefined) return closure;
    return (frame) => {
      const result = closure(frame);
      observer(plan, result);
      return result;
    };
  }

  #full(plan: Plan): Closure {
    switch (plan.op) {
      case 'constant': {
        const value = plan.value;
        return () => value;
      }
      case 'variable':
      case 'local': {
        const read = this.#read(plan);
        return (frame) => {
          frame.cost++;
          return read(frame);
        };
      }
      case 'attribute':
        return this.#attribute(plan, false);
      case 'conditional':
        return this.#conditional(plan);
      case 'and':
      case 'or':
        return this.#logic(plan);
      case 'equal':
      case 'unequal':
        return this.#equality(plan);
      case 'notFalse': {
        const operand = this.compile(plan.operand);
        return (frame) => {
          const value = operand(frame);
          frame.cost++;
          return typeof value === 'boolean' ? value : true;
        };
      }
      case 'call':
        return this.#call(plan);
      case 'membership': {
        const element = this.compile(plan.element);
        return (frame) => {
          const value = element(frame);
          if (value instanceof NonValue) return value;
          const key = memberKey(value);
          return key !== undefined && plan.members.has(key);
        };
      }
      case 'or optional':
      case 'or value': {
        const operand = this.compile(plan.operand);
        const otherwise = this.compile(plan.otherwise);
        const unwrap = plan.op === 'or value';
        return (frame) => {
          const value = operand(frame);
          if (!(value instanceof Optional)) return value;
          if (value.value === undefined) return otherwise(frame);
          return unwrap ? value.value : value;
        };
      }
      case 'list':
        return this.#list(plan);
      case 'map':
        return this.#map(plan);
      case 'struct':
        return this.#struct(plan);
      case 'append': {
        const accumulator = this.compile(plan.accumulator);
        const addition = this.compile(plan.addition);
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
      case 'insert':
        return this.#insert(plan.accumulator.local, plan.args, plan.node.offset);
      case 'fold':
        return this.#fold(plan);
      case 'bind': {
        const body = this.compile(plan.body);
        const { slot } = plan.local;
        return (frame) => {
          frame.locals[slot] = UNSET;
          return body(frame);
        };
      }
    }
  }

  #read(plan: Plan & { op: 'variable' | 'local' }): Closure {
    if (plan.op === 'variable') {
      const { name } = plan;
      const { offset } = plan.node;
      return (frame) => {
        const variables = frame.variables;
        const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
        if (value instanceof NonValue) return readAt(value, offset);
        return value === undefined ? at(undeclared(name), offset) : reread(value);
      };
    }
    const { slot, lazy } = plan.local;
    if (lazy === undefined) return (frame) => reread(frame.locals[slot] as Result);
    const compute = this.compile(lazy);
    return (frame) => {
      const known = frame.locals[slot];
      if (known !== UNSET) return reread(known as Result);
      const value = compute(frame);
      frame.locals[slot] = value;
      return reread(value);
    };
  }

  #attribute(plan: AttributePlan, bare: boolean): Closure {
    const { root, qualifiers } = plan;
    const named = root.op === 'variable' || root.op === 'local';
    const operand = named || root.op === 'conditional' ? this.#bare(root) : this.compile(root);
    const steps = qualifiers.map((each) => ({
      qualifier: each,
      key: each.computed === undefined ? undefined : this.#bare(each.computed),
    }));
    const test = qualifiers.at(-1)?.test === true;
    // The root of an attribute costs 1, of a conditional nothing; has() takes 1 off.
    const rootCost = bare ? 0 : (root.op === 'conditional' ? 0 : 1) - (test ? 1 : 0);
    const observer = this.#observer;
    return (frame) => {
      let value: Result = operand(frame);
      frame.cost += rootCost;
      if (value instanceof NonValue) return value;
      let optional = false;
      if (value instanceof Optional) {
        if (value.value === undefined) return value;
        const inner = inside(value);
        if (inner instanceof NonValue) return inner;
        value = inner as Value;
        optional = true;
      }
      for (const { qualifier, key } of steps) {
        optional ||= qualifier.optional;
        const by: Result | undefined = key === undefined ? qualifier.key : key(frame);
        const next: Result | undefined =
          by instanceof NonValue ? by : step(value as Value, by as Value, qualifier, optional);
        if (next === undefined && optional) return test ? false : Optional.none;
        // A step that fails under `?` is not charged.
        if (!optional || !(next instanceof NonValue)) frame.cost++;
        value = next === undefined ? missing(value as Value, by as Value) : next;
        // The last step is the attribute itself, which is watched as a whole.
        if (qualifier.node !== plan.node) observer?.(qualifier, value);
        if (value instanceof NonValue) return at(value, qualifier.node.offset);
      }
      return optional && !test ? new Optional(value as Value) : value;
    };
  }

  #conditional(plan: ConditionalPlan): Closure {
    const condition = this.compile(plan.condition);
    const truthy = this.#bare(plan.truthy);
    const falsy = this.#bare(plan.falsy);
    const { offset } = plan.node;
    return (frame) => {
      const chosen = condition(frame);
      if (chosen === true) return reread(truthy(frame));
      return chosen === false ? reread(falsy(frame)) : badCondition(chosen, offset);
    };
  }

  #logic(plan: LogicPlan): Closure {
    const terms = plan.terms.map((each) => this.compile(each));
    const decisive = plan.op === 'or';
    const { offset } = plan.node;
    return (frame) => {
      let result: Result = !decisive;
      for (const term of terms) {
        const value = term(frame);
        if (value === decisive) return decisive;
        if (value !== !decisive) result = absorb(result, value, offset);
      }
      return result;
    };
  }

  #equality(plan: EqualityPlan): Closure {
    const left = this.compile(plan.left);
    const right = this.compile(plan.right);
    const equality = plan.op === 'equal';
    const cost = equality ? equalityCost : compareCost;
    const { offset } = plan.node;
    return (frame) => {
      const a = left(frame);
      const b = right(frame);
      frame.charge(cost(a, b));
      if (a instanceof NonValue) return a;
      if (b instanceof NonValue) return b;
      const same = equalOrError(a, b);
      if (same instanceof CelError) return equality ? at(same, offset) : true;
      return same === equality;
    };
  }

  #call(plan: CallPlan): Closure {
    const { known } = plan;
    if (known !== undefined) {
      return (frame) => {
        frame.charge(known.cost);
        return known.value;
      };
    }
    const args = plan.args.map((each) => this.compile(each));
    const { name, overloads, cost, early, singleton } = plan;
    const { offset } = plan.node;
    const implementation = singleton ? overloads[0]?.implementation : undefined;
    return (frame) => {
      const values: Result[] = [];
      let failed: NonValue | undefined;
      for (const argument of args) {
        const value = argument(frame);
        values.push(value);
        if (value instanceof NonValue) {
          failed ??= value;
          if (early) break;
        }
      }
      let result: Result;
      if (failed !== undefined) result = failed;
      else if (implementation !== undefined) result = implementation(...(values as Value[]));
      else result = dispatch(name, overloads, values as Value[]);
      // A call that stopped at an argument is charged only if that was the last.
      if (values.length === args.length) frame.charge(cost === undefined ? 1 : cost(values, result));
      return at(result, offset);
    };
  }

  #list(plan: ListPlan): Closure {
    const elements = plan.elements.map((each) => ({ value: this.compile(each.plan), optional: each.optional }));
    const { offset } = plan.node;
    return paid(LIST_CREATE, (frame) => {
      const list: Value[] = [];
      for (const { value, optional } of elements) {
        const element = value(frame);
        if (element instanceof NonValue) return element;
        if (!optional) {
          list.push(element);
          continue;
        }
        const inner = optionalElement(element, 'list element');
        if (inner instanceof CelError) return at(inner, offset);
        if (inner !== undefined) list.push(inner);
      }
      return list;
    });
  }

  #map(plan: MapPlan): Closure {
    const entries = plan.entries.map((each) => ({
      key: this.compile(each.key),
      value: this.compile(each.value),
      optional: each.optional,
    }));
    const { offset } = plan.node;
    return paid(MAP_CREATE, (frame) => {
      const made: [Value, Value][] = [];
      for (const entry of entries) {
        const key = entry.key(frame);
        if (key instanceof NonValue) return key;
        const value = entry.value(frame);
        if (value instanceof NonValue) return value;
        const inner = entry.optional ? optionalElement(value, 'entry') : value;
        if (inner instanceof CelError) return at(inner, offset);
        if (inner !== undefined) made.push([key, inner]);
      }
      return at(makeMap(made, plan.unique), offset);
    });
  }

  #struct(plan: StructPlan): Closure {
    const fields = plan.fields.map((each) => ({ ...each, value: this.compile(each.plan) }));
    const { offset } = plan.node;
    return paid(STRUCT_CREATE, (frame) => {
      const made: Record<string, Value> = {};
      for (const field of fields) {
        const value = field.value(frame);
        if (value instanceof NonValue) return value;
        const inner = field.optional ? optionalElement(value, `entry '${field.name}'`) : value;
        if (inner instanceof CelError) return at(inner, offset);
        if (inner !== undefined) setOwn(made, field.name, inner);
      }
      return at(plan.construct(made), offset);
    });
  }

  #insert(local: Local, plans: readonly Plan[], offset: number): Closure {
    const args = plans.map((each) => this.compile(each));
    const { slot } = local;
    return (frame) => {
      frame.cost++;
      const builder = frame.locals[slot] as MapBuilder | NonValue;
      if (builder instanceof NonValue) {
        // Two arguments are both evaluated, three stop at the first that fails.
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

  #fold(plan: FoldPlan): Closure {
    const range = this.compile(plan.range);
    const initial = this.compile(plan.initial);
    const condition = this.compile(plan.condition);
    const step = this.compile(plan.step);
    const result = this.compile(plan.result);
    const accumulator = plan.accumulator.slot;
    const first = plan.variable.slot;
    const second = plan.variable2?.slot;
    const { offset } = plan.range.node;
    return (frame) => {
      const over = range(frame);
      if (over instanceof NonValue) return over;
      const { locals } = frame;
      locals[accumulator] = fresh(initial(frame));
      /** Answers false to end the loop. */
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
}

/** Charges for making something once it is made or has failed, not before what it is made of. */
function paid(cost: number, make: Closure): Closure {
  return (frame) => {
    const made = make(frame);
    frame.cost += cost;
    return made;
  };
}

/** An accumulator that may be added to in place: never the constant of the plan. */
export function fresh(initial: Result): Result {
  if (Array.isArray(initial)) return [...initial];
  return isMap(initial) ? (new MapBuilder() as unknown as Result) : initial;
}

/** One step into a value: undefined when there is nothing. */
function step(value: Value, key: Value, qualifier: Qualifier, optional: boolean): Result | undefined {
  if (qualifier.strict && (optional || qualifier.test) && !isContainer(value)) return missing(value, key);
  if (!qualifier.test) return lookup(value, key);
  const found = hasField(value, key as string);
  return optional && found === false ? undefined : found;
}
