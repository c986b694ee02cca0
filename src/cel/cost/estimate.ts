/**
 * Estimates the cost of an expression before it runs, from the size bounds of a schema, by the rules of cel-go and the
 * Kubernetes libraries.
 */
import type { Call, Comprehension, Expr, ListLiteral, MapLiteral } from '../ast.ts';
import type { Checked } from '../check/checked.ts';
import type { CallEstimate, EstimateNode, Overload, Range } from '../declarations.ts';
import { Knowledge, type SizeBounds } from './knowledge.ts';
import { fixed, plus, scaled, times, UNKNOWN, union, ZERO } from './ranges.ts';
import { LIST_CREATE, MAP_CREATE, STRING_TRAVERSAL, STRUCT_CREATE } from './size.ts';
import { standardEstimate } from './standard.ts';

export type { SizeBounds } from './knowledge.ts';

/** `estimate` returns the minimum and maximum cost. `unknown` is the assumed size of values without bounds. */
export function estimate(checked: Checked, bounds: SizeBounds = () => undefined, unknown = UNKNOWN.max): Range {
  return new Estimator(checked, bounds, { min: 0, max: unknown }).cost(checked.ast);
}

class Estimator {
  readonly #checked: Checked;
  readonly #known: Knowledge;

  constructor(checked: Checked, bounds: SizeBounds, unknown: Range) {
    this.#checked = checked;
    this.#known = new Knowledge(checked, bounds, unknown);
  }

  cost(node: Expr): Range {
    const reference = this.#checked.references.get(node.id);
    if (node.kind === 'select' && reference !== undefined) {
      // A dotted name may be a single variable or type.
      if (reference.kind === 'variable') this.#known.setPath(node, [reference.name]);
      return fixed(1);
    }
    switch (node.kind) {
      case 'literal':
        return ZERO;
      case 'identifier':
        this.#known.setPath(node, this.#known.local(node.name)?.path ?? [node.name]);
        return fixed(1);
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node);
      case 'list':
        return this.#list(node);
      case 'map':
        return this.#map(node);
      case 'struct':
        return node.fields.reduce((sum, each) => plus(sum, this.cost(each.value)), fixed(STRUCT_CREATE));
      case 'comprehension':
        return isBind(node) ? this.#bind(node) : this.#comprehension(node);
    }
  }

  #select(node: Expr & { kind: 'select' }): Range {
    const operand = this.cost(node.operand);
    if (node.test) return operand;
    const path = this.#known.path(node.operand);
    if (path !== undefined) this.#known.setPath(node, [...path, node.field]);
    const { kind } = this.#known.type(node.operand);
    return kind === 'map' || kind === 'object' || kind === 'parameter' ? plus(operand, fixed(1)) : operand;
  }

  #list(node: ListLiteral): Range {
    let sum = fixed(LIST_CREATE);
    let value: Range | undefined;
    for (const each of node.elements) {
      sum = plus(sum, this.cost(each));
      const size = this.#known.sizeOf(each);
      value = value === undefined ? size : union(value, size);
    }
    this.#known.setEntries(node, { container: 'list', key: fixed(1), value: value ?? ZERO });
    return sum;
  }

  #map(node: MapLiteral): Range {
    let sum = fixed(MAP_CREATE);
    let key: Range | undefined;
    let value: Range | undefined;
    for (const entry of node.entries) {
      sum = plus(sum, plus(this.cost(entry.key), this.cost(entry.value)));
      const [keySize, valueSize] = [this.#known.sizeOf(entry.key), this.#known.sizeOf(entry.value)];
      key = key === undefined ? keySize : union(key, keySize);
      value = value === undefined ? valueSize : union(value, valueSize);
    }
    this.#known.setEntries(node, { container: 'map', key: key ?? ZERO, value: value ?? ZERO });
    return sum;
  }

  #call(node: Call): Range {
    const [first] = node.args;
    if (node.function === 'dyn' && first !== undefined) {
      const sum = plus(fixed(1), this.cost(first));
      this.#known.copySizes(node, first);
      return sum;
    }
    const costs = node.args.map((each) => this.cost(each));
    const args = node.args.map((each) => this.#known.describe(each));
    const reference = this.#checked.references.get(node.id);
    if (reference?.kind !== 'function') return ZERO;
    let sum = ZERO;
    let target: EstimateNode | undefined;
    if (node.target !== undefined && reference.member) {
      sum = this.cost(node.target);
      target = this.#known.describe(node.target);
    }
    let cost: Range | undefined;
    let size: Range | undefined;
    for (const overload of reference.overloads) {
      const found = this.#overload(node, overload, target, args, costs);
      cost = cost === undefined ? found.cost : union(cost, found.cost);
      if (found.resultSize !== undefined) size = size === undefined ? found.resultSize : union(size, found.resultSize);
      size = this.#indexed(node, overload.id) ?? size;
      size ??= this.#known.size(node);
    }
    if (size !== undefined) this.#known.setSize(node, size);
    return plus(sum, cost ?? ZERO);
  }

  /** Elements have the size and path of their container. */
  #indexed(node: Call, id: string): Range | undefined {
    if (id !== 'index_list' && id !== 'index_map') return undefined;
    const container = node.args[0] as Expr;
    const path = this.#known.path(container);
    if (path !== undefined) this.#known.setPath(node, [...path, id === 'index_list' ? '@items' : '@values']);
    return this.#known.entrySizes(container)?.value;
  }

  #overload(
    node: Call,
    overload: Overload,
    target: EstimateNode | undefined,
    args: readonly EstimateNode[],
    costs: readonly Range[],
  ): CallEstimate {
    const declared = overload.estimate?.(target, args);
    const all = costs.reduce(plus, ZERO);
    if (declared !== undefined) return { ...declared, cost: plus(declared.cost, all) };
    switch (overload.id) {
      case 'logical_and':
      case 'logical_or':
        return { cost: { min: costs[0]?.min ?? 0, max: all.max } };
      case 'conditional': {
        const [condition, truthy, falsy] = costs as [Range, Range, Range];
        const [, left, right] = node.args as [Expr, Expr, Expr];
        this.#known.joinEntries(node, left, right);
        return {
          cost: plus(condition, union(truthy, falsy)),
          resultSize: union(this.#known.sizeOf(left), this.#known.sizeOf(right)),
        };
      }
      case 'add_string':
      case 'add_bytes':
      case 'add_list': {
        const [left, right] = node.args as [Expr, Expr];
        const resultSize = plus(this.#known.sizeOf(left), this.#known.sizeOf(right));
        this.#known.joinEntries(node, left, right);
        const cost = overload.id === 'add_list' ? fixed(1) : scaled(resultSize, STRING_TRAVERSAL);
        return { cost: plus(cost, all), resultSize };
      }
      default: {
        const found = standardEstimate(overload.id, target, args);
        return { ...found, cost: plus(found.cost, all) };
      }
    }
  }

  #comprehension(node: Comprehension): Range {
    let sum = plus(this.cost(node.range), this.cost(node.initial));
    this.#known.enterAccumulator(node);
    const entered = this.#known.enterVariables(node);
    const turn = plus(this.cost(node.condition), this.cost(node.step));
    for (const name of entered) this.#known.leave(name);
    sum = plus(sum, this.cost(node.result));
    this.#known.leave(node.accumulator);
    const count = this.#known.sizeOf(node.range);
    if (node.initial.kind === 'literal') {
      const size = this.#known.size(node.initial);
      if (size !== undefined) this.#known.setSize(node, size);
    } else if (node.initial.kind === 'list' || node.initial.kind === 'map') {
      this.#known.setSize(node, count);
      const entries = this.#known.entrySizes(node.step);
      if (entries !== undefined) this.#known.setEntries(node, entries);
    }
    return plus(sum, times(count, turn));
  }

  #bind(node: Comprehension): Range {
    const sum = plus(this.cost(node.range), this.cost(node.initial));
    this.#known.enterAccumulator(node);
    const body = this.cost(node.result);
    this.#known.copySizes(node, node.result);
    this.#known.leave(node.accumulator);
    return plus(sum, body);
  }
}

const isBind = (node: Comprehension): boolean =>
  node.range.kind === 'list' &&
  node.range.elements.length === 0 &&
  node.condition.kind === 'literal' &&
  node.condition.value === false &&
  !node.accumulator.startsWith('@result');
