/**
 * Compiles a plan to closures: the back end for hosts that forbid code generation, and for explain, which observes
 * values. Every closure returns a value, an error or an unknown, and charges the same cost as cel-go.
 */
import { equalOrError } from '../compare.ts';
import { dispatch } from '../plan/dispatch.ts';
import { memberKey } from '../plan/membership.ts';
import type { AttributePlan, CallPlan, ConditionalPlan, EqualityPlan, LogicPlan, Plan, Program } from '../plan/plan.ts';
import { compareCost, equalityCost } from '../standard/costs.ts';
import { CelError, NonValue, Optional, type Result, type Value } from '../values.ts';
import type { Closure, Compile, Observer } from './closure.ts';
import { attributeClosure } from './closures-attributes.ts';
import { listClosure, mapClosure, structClosure } from './closures-literals.ts';
import { appendClosure, foldClosure, insertClosure } from './closures-loops.ts';
import { at, readAt, undeclared } from './frame.ts';
import { absorb, badCondition } from './logic.ts';
import { reread } from './optionals.ts';

export type { Closure } from './closure.ts';

export function compileClosures(program: Program, observer?: Observer): Closure {
  return new ClosureCompiler(observer).compile(program.plan);
}

const UNSET = Symbol('unset');

class ClosureCompiler {
  readonly #observer: Observer | undefined;

  constructor(observer: Observer | undefined) {
    this.#observer = observer;
  }

  readonly compile: Compile = (plan) => this.#watch(plan, this.#full(plan));

  /**
   * Compiles an attribute that another one resolves (a branch of `?:`, a computed key): cel-go then does not charge for
   * the variable at its root.
   */
  readonly #bare: Compile = (plan) => {
    switch (plan.op) {
      case 'variable':
      case 'local':
        return this.#watch(plan, this.#read(plan));
      case 'attribute':
        return this.#watch(plan, this.#attribute(plan, true));
      default:
        return this.compile(plan);
    }
  };

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
        return listClosure(plan, this.compile);
      case 'map':
        return mapClosure(plan, this.compile);
      case 'struct':
        return structClosure(plan, this.compile);
      case 'append':
        return appendClosure(plan, this.compile);
      case 'insert':
        return insertClosure(plan, this.compile);
      case 'fold':
        return foldClosure(plan, this.compile);
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
    return attributeClosure(plan, bare, { full: this.compile, bare: this.#bare }, this.#observer);
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
      // A call that stopped at a failed argument is charged only if that argument is the last.
      if (values.length === args.length) frame.charge(cost === undefined ? 1 : cost(values, result));
      return at(result, offset);
    };
  }
}
