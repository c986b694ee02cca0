/**
 * Inspects an evaluated expression: the value of any sub-expression, also inside loops, and its path in the object.
 * Sub-expressions are compiled on first use, which happens only for violated rules.
 */
import {
  type Budget,
  type Call,
  CelError,
  type Compiled,
  compile,
  type Expr,
  environment,
  format,
  type Result,
  trust,
  types,
  type Value,
} from '../../cel/index.ts';
import { SHORTHANDS } from '../engine/environment.ts';
import type { Scope } from '../engine/scope.ts';
import type { Unit } from '../engine/unit.ts';
import { below, type Place, placeText } from './place.ts';
import type { Origin, Sensitive } from './sensitive.ts';

/** A loop variable in one iteration. */
export interface Local {
  readonly value: Value;
  readonly place: Place | undefined;
  readonly origin: Origin;
}

export type Locals = ReadonlyMap<string, Local>;

export const NO_LOCALS: Locals = new Map();

/** The cost limit of an explanation: the same as that of one expression. */
const MAX_COST = 1_000_000;

/** The state that all inspectors of one explanation share. */
interface Inspection {
  readonly scope: Scope;
  readonly sensitive: Sensitive;
  /** The path of the Pod template in the workload controller. */
  readonly prefix: string | undefined;
  /** The budget of the whole explanation, which must not take longer than the evaluation. */
  readonly budget: Budget;
  /** Whether the budget was exhausted before the explanation was complete. */
  exhausted: boolean;
}

export function inspection(scope: Scope, sensitive: Sensitive, prefix: string | undefined): Inspection {
  return { scope, sensitive, prefix, budget: scope.clock.newBudget(MAX_COST), exhausted: false };
}

/** A cache of compiled sub-expressions by their text. */
const PARTS = new WeakMap<Unit, Map<string, Compiled | undefined>>();

export class Inspector {
  readonly unit: Unit;
  readonly inspection: Inspection;

  constructor(unit: Unit, inspection: Inspection) {
    this.unit = unit;
    this.inspection = inspection;
  }

  /** `text` formats a node; the original source may contain parentheses that belong to no node. */
  text(node: Expr): string {
    return format(node);
  }

  /** `nameOf` writes a path in terms of the request. */
  nameOf(place: Place): string {
    return placeText(place, this.inspection.prefix);
  }

  /** `value` evaluates a sub-expression; undefined if that is not possible. */
  value(node: Expr, locals: Locals): Result | undefined {
    if (node.kind === 'literal') return node.value;
    const { budget } = this.inspection;
    if (this.inspection.exhausted) return undefined;
    const compiled = this.#compiled(node);
    if (compiled === undefined) return undefined;
    const inputs = this.inspection.scope.inputsOf(this.unit);
    const own = Object.fromEntries([...locals].map(([name, { value }]) => [name, value]));
    const result = compiled.evaluate(locals.size === 0 ? inputs : trust({ ...inputs, ...own }), budget);
    if (result instanceof CelError && (result.code === 'cost_exceeded' || result.code === 'interrupted')) {
      this.inspection.exhausted = true;
      return undefined;
    }
    return result;
  }

  hides(node: Expr, locals: Locals): boolean {
    return this.inspection.sensitive.hides(node, this.unit, originsOf(locals));
  }

  originOf(range: Expr, locals: Locals): Origin {
    return this.inspection.sensitive.originOf(range, this.unit, originsOf(locals));
  }

  /** `variable` returns the inspector of a variable's expression if `node` is `variables.x`. */
  variable(node: Expr, locals: Locals): Inspector | undefined {
    if (node.kind !== 'select' || node.test || node.operand.kind !== 'identifier') return undefined;
    if (node.operand.name !== 'variables' || locals.has('variables')) return undefined;
    const unit = this.unit.variables?.get(node.field);
    return unit === undefined ? undefined : new Inspector(unit, this.inspection);
  }

  /** `place` returns the path of the value of `node`, or undefined if it is computed. */
  place(node: Expr, locals: Locals): Place | undefined {
    switch (node.kind) {
      case 'identifier':
        return this.#root(node.name, locals);
      case 'select': {
        const variable = this.variable(node, locals);
        if (variable !== undefined) return variable.place(variable.unit.compiled.ast, NO_LOCALS);
        return this.#step(node.operand, node.field, locals);
      }
      case 'call':
        return this.#callPlace(node, locals);
      default:
        return undefined;
    }
  }

  #callPlace(node: Call, locals: Locals): Place | undefined {
    const [first, second, third] = node.args as [Expr, Expr, Expr];
    switch (node.function) {
      case '_[_]':
      case '_[?_]':
      case '_?._': {
        const key = this.value(second, locals);
        return typeof key === 'string' || typeof key === 'number' ? this.#step(first, key, locals) : undefined;
      }
      case '_?_:_': {
        const chosen = this.value(first, locals);
        return typeof chosen === 'boolean' ? this.place(chosen ? second : third, locals) : undefined;
      }
      case 'orValue':
      case 'value':
        return node.target === undefined ? undefined : this.place(node.target, locals);
      // A conversion keeps the path of its operand.
      case 'string':
      case 'int':
      case 'double':
      case 'dyn':
      case 'quantity':
      case 'lowerAscii':
      case 'upperAscii':
      case 'trim':
        return this.place((node.target ?? first) as Expr, locals);
      default:
        return undefined;
    }
  }

  #step(operand: Expr, step: string | number, locals: Locals): Place | undefined {
    const place = this.place(operand, locals);
    return place === undefined ? undefined : below(place, step);
  }

  #root(name: string, locals: Locals): Place | undefined {
    const local = locals.get(name);
    if (local !== undefined) return local.place;
    const { object } = this.inspection.scope.subject;
    if ((SHORTHANDS as readonly string[]).includes(name)) {
      return { root: object === null ? 'oldObject' : 'object', steps: [name] };
    }
    return { root: name, steps: [] };
  }

  #compiled(node: Expr): Compiled | undefined {
    let parts = PARTS.get(this.unit);
    if (parts === undefined) {
      parts = new Map();
      PARTS.set(this.unit, parts);
    }
    const key = this.text(node);
    if (!parts.has(key)) {
      const made = compile(key, LOOSE, { unchecked: true, backend: 'closures' });
      parts.set(key, made.evaluate === undefined ? undefined : made);
    }
    return parts.get(key);
  }
}

const originsOf = (locals: Locals): ReadonlyMap<string, Origin> =>
  new Map([...locals].map(([name, { origin }]) => [name, origin]));

/** Sub-expressions were type-checked as part of the whole expression, so they are only resolved here. */
const LOOSE = environment('kubernetes-1.36', { variables: { object: types.DYN } });
