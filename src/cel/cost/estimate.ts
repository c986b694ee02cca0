/**
 * What an expression may cost, before it runs: from the bounds that a schema gives its data. The rules are cel-go's,
 * with the estimates that Kubernetes' libraries declare.
 */
import type { Call, Comprehension, Expr, ListLiteral, MapLiteral } from '../ast.ts';
import type { Checked } from '../check/checker.ts';
import type { CallEstimate, EstimateNode, Overload, Range } from '../declarations.ts';
import { codePoints } from '../text.ts';
import { DYN, isOptional, parameterOf, type Type } from '../types.ts';
import type { Value } from '../values.ts';
import { fixed, plus, scaled, times, UNKNOWN, union, ZERO } from './ranges.ts';
import { LIST_CREATE, MAP_CREATE, STRING_TRAVERSAL, STRUCT_CREATE } from './size.ts';
import { standardEstimate } from './standard.ts';

/**
 * The largest size of what is at a path, or undefined when nothing is known of it. A path starts with the name of a
 * variable; `@items`, `@values`, `@keys` and `@indices` stand for what a list or map holds.
 */
export type SizeBounds = (path: readonly string[]) => number | undefined;

/** `unknown` is the largest size of what neither bounds nor the expression say anything about. */
export function estimate(checked: Checked, bounds: SizeBounds = () => undefined, unknown = UNKNOWN.max): Range {
  return new Estimator(checked, bounds, { min: 0, max: unknown }).cost(checked.ast);
}

/** Sizes of the keys and values of a list or map. */
interface EntrySizes {
  readonly container: 'list' | 'map';
  readonly key: Range;
  readonly value: Range;
}

interface LocalVariable {
  readonly path: readonly string[] | undefined;
  readonly size: Range | undefined;
  readonly entries: EntrySizes | undefined;
}

class Estimator {
  readonly #checked: Checked;
  readonly #bounds: SizeBounds;
  readonly #unknown: Range;
  readonly #paths = new Map<number, readonly string[]>();
  readonly #sizes = new Map<number, Range>();
  readonly #entries = new Map<number, EntrySizes>();
  readonly #locals = new Map<string, LocalVariable[]>();

  constructor(checked: Checked, bounds: SizeBounds, unknown: Range) {
    this.#checked = checked;
    this.#bounds = bounds;
    this.#unknown = unknown;
  }

  cost(node: Expr): Range {
    const reference = this.#checked.references.get(node.id);
    if (node.kind === 'select' && reference !== undefined) {
      // A dotted name that is one variable or type.
      if (reference.kind === 'variable') this.#paths.set(node.id, [reference.name]);
      return fixed(1);
    }
    switch (node.kind) {
      case 'literal':
        return ZERO;
      case 'identifier':
        this.#paths.set(node.id, this.#local(node.name)?.path ?? [node.name]);
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
    const path = this.#path(node.operand);
    if (path !== undefined) this.#paths.set(node.id, [...path, node.field]);
    const { kind } = this.#type(node.operand);
    return kind === 'map' || kind === 'object' || kind === 'parameter' ? plus(operand, fixed(1)) : operand;
  }

  #list(node: ListLiteral): Range {
    let sum = fixed(LIST_CREATE);
    let value: Range | undefined;
    for (const each of node.elements) {
      sum = plus(sum, this.cost(each));
      const size = this.sizeOf(each);
      value = value === undefined ? size : union(value, size);
    }
    this.#entries.set(node.id, { container: 'list', key: fixed(1), value: value ?? ZERO });
    return sum;
  }

  #map(node: MapLiteral): Range {
    let sum = fixed(MAP_CREATE);
    let key: Range | undefined;
    let value: Range | undefined;
    for (const entry of node.entries) {
      sum = plus(sum, plus(this.cost(entry.key), this.cost(entry.value)));
      const [keySize, valueSize] = [this.sizeOf(entry.key), this.sizeOf(entry.value)];
      key = key === undefined ? keySize : union(key, keySize);
      value = value === undefined ? valueSize : union(value, valueSize);
    }
    this.#entries.set(node.id, { container: 'map', key: key ?? ZERO, value: value ?? ZERO });
    return sum;
  }

  #call(node: Call): Range {
    const [first] = node.args;
    if (node.function === 'dyn' && first !== undefined) {
      const sum = plus(fixed(1), this.cost(first));
      this.#copySizes(node, first);
      return sum;
    }
    const costs = node.args.map((each) => this.cost(each));
    const args = node.args.map((each) => this.#node(each));
    const reference = this.#checked.references.get(node.id);
    if (reference?.kind !== 'function') return ZERO;
    let sum = ZERO;
    let target: EstimateNode | undefined;
    if (node.target !== undefined && reference.member) {
      sum = this.cost(node.target);
      target = this.#node(node.target);
    }
    let cost: Range | undefined;
    let size: Range | undefined;
    for (const overload of reference.overloads) {
      const found = this.#overload(node, overload, target, args, costs);
      cost = cost === undefined ? found.cost : union(cost, found.cost);
      if (found.resultSize !== undefined) size = size === undefined ? found.resultSize : union(size, found.resultSize);
      size = this.#indexed(node, overload.id) ?? size;
      size ??= this.#size(node);
    }
    if (size !== undefined) this.#sizes.set(node.id, size);
    return plus(sum, cost ?? ZERO);
  }

  /** Elements have the size and the path of what they are taken from. */
  #indexed(node: Call, id: string): Range | undefined {
    if (id !== 'index_list' && id !== 'index_map') return undefined;
    const container = node.args[0] as Expr;
    const path = this.#path(container);
    if (path !== undefined) this.#paths.set(node.id, [...path, id === 'index_list' ? '@items' : '@values']);
    return this.#entrySizes(container)?.value;
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
        this.#joinEntries(node, left, right);
        return {
          cost: plus(condition, union(truthy, falsy)),
          resultSize: union(this.sizeOf(left), this.sizeOf(right)),
        };
      }
      case 'add_string':
      case 'add_bytes':
      case 'add_list': {
        const [left, right] = node.args as [Expr, Expr];
        const resultSize = plus(this.sizeOf(left), this.sizeOf(right));
        this.#joinEntries(node, left, right);
        const cost = overload.id === 'add_list' ? fixed(1) : scaled(resultSize, STRING_TRAVERSAL);
        return { cost: plus(cost, all), resultSize };
      }
      default: {
        const found = standardEstimate(overload.id, target, args);
        return { ...found, cost: plus(found.cost, all) };
      }
    }
  }

  #joinEntries(node: Expr, left: Expr, right: Expr): void {
    const a = this.#entrySizes(left);
    const b = this.#entrySizes(right);
    if (a === undefined || b === undefined) return;
    this.#entries.set(node.id, { container: a.container, key: union(a.key, b.key), value: union(a.value, b.value) });
  }

  #comprehension(node: Comprehension): Range {
    let sum = plus(this.cost(node.range), this.cost(node.initial));
    this.#push(node.accumulator, {
      path: this.#path(node.initial),
      size: this.#size(node.initial),
      entries: this.#entrySizes(node.initial),
    });
    const pushed = this.#pushVariables(node);
    const turn = plus(this.cost(node.condition), this.cost(node.step));
    for (const name of pushed) this.#locals.get(name)?.pop();
    sum = plus(sum, this.cost(node.result));
    this.#locals.get(node.accumulator)?.pop();
    const count = this.sizeOf(node.range);
    if (node.initial.kind === 'literal') {
      const size = this.#size(node.initial);
      if (size !== undefined) this.#sizes.set(node.id, size);
    } else if (node.initial.kind === 'list' || node.initial.kind === 'map') {
      this.#sizes.set(node.id, count);
      const entries = this.#entrySizes(node.step);
      if (entries !== undefined) this.#entries.set(node.id, entries);
    }
    return plus(sum, times(count, turn));
  }

  #pushVariables(node: Comprehension): readonly string[] {
    const entries = this.#entrySizes(node.range);
    const kind = entries?.container ?? this.#type(node.range).kind;
    const path = this.#path(node.range) ?? [];
    const keys = { path: [...path, kind === 'list' ? '@indices' : '@keys'], size: entries?.key, entries: undefined };
    const values = {
      path: [...path, kind === 'list' ? '@items' : '@values'],
      size: entries?.value,
      entries: undefined,
    };
    if (node.variable2 === undefined) {
      this.#push(node.variable, kind === 'list' ? values : keys);
      return [node.variable];
    }
    // cel-go appends to one path twice, and where there is room the second name takes the place of the first.
    const shared = path.length > 2 && !Number.isInteger(Math.log2(path.length));
    this.#push(node.variable, shared ? { ...keys, path: values.path } : keys);
    this.#push(node.variable2, values);
    return [node.variable, node.variable2];
  }

  #bind(node: Comprehension): Range {
    const sum = plus(this.cost(node.range), this.cost(node.initial));
    this.#push(node.accumulator, {
      path: this.#path(node.initial),
      size: this.#size(node.initial),
      entries: this.#entrySizes(node.initial),
    });
    const body = this.cost(node.result);
    this.#copySizes(node, node.result);
    this.#locals.get(node.accumulator)?.pop();
    return plus(sum, body);
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from);
    const entries = this.#entrySizes(from);
    if (size !== undefined) this.#sizes.set(to.id, size);
    if (entries !== undefined) this.#entries.set(to.id, entries);
  }

  // ---- what is known of a node ---------------------------------------------------------------------------------

  #push(name: string, variable: LocalVariable): void {
    const known = this.#locals.get(name);
    if (known === undefined) this.#locals.set(name, [variable]);
    else known.push(variable);
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #type(node: Expr): Type {
    return this.#checked.types.get(node.id) ?? DYN;
  }

  #path(node: Expr): readonly string[] | undefined {
    if (node.kind === 'identifier') {
      const local = this.#local(node.name);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(node.id);
  }

  /** As #size, and everything possible where nothing is known. */
  sizeOf(node: Expr): Range {
    return this.#size(node) ?? this.#unknown;
  }

  #size(node: Expr): Range | undefined {
    const known = this.#sizes.get(node.id) ?? literalSize(node);
    if (known !== undefined) return known;
    const bound = this.#bound(this.#path(node));
    if (bound !== undefined) {
      this.#sizes.set(node.id, bound);
      return bound;
    }
    if (isScalar(this.#type(node))) return fixed(1);
    return node.kind === 'identifier' ? this.#local(node.name)?.size : undefined;
  }

  #bound(path: readonly string[] | undefined): Range | undefined {
    if (path === undefined || path.length === 0) return undefined;
    const max = this.#bounds(path);
    return max === undefined ? undefined : { min: 0, max };
  }

  #entrySizes(node: Expr): EntrySizes | undefined {
    const known = this.#entries.get(node.id);
    if (known !== undefined) return known;
    return node.kind === 'identifier' ? this.#local(node.name)?.entries : undefined;
  }

  #node(node: Expr): EstimateNode {
    const size = this.#size(node);
    const of = this.#type(node);
    const path = this.#path(node);
    const made = {
      type: of,
      size: size ?? this.#unknown,
      sized: size !== undefined,
      element: () => this.#element(of, path),
    };
    return node.kind === 'literal' ? { ...made, literal: node.value as Value } : made;
  }

  #element(of: Type, path: readonly string[] | undefined): EstimateNode | undefined {
    const type = of.parameters[0];
    if (type === undefined) return undefined;
    const inner = path === undefined ? undefined : [...path, '@items'];
    const size = this.#bound(inner);
    return {
      type,
      size: size ?? this.#unknown,
      sized: size !== undefined,
      element: () => this.#element(type, inner),
    };
  }
}

const isBind = (node: Comprehension): boolean =>
  node.range.kind === 'list' &&
  node.range.elements.length === 0 &&
  node.condition.kind === 'literal' &&
  node.condition.value === false &&
  !node.accumulator.startsWith('@result');

function literalSize(node: Expr): Range | undefined {
  if (node.kind === 'list') return fixed(node.elements.length);
  if (node.kind === 'map') return fixed(node.entries.length);
  if (node.kind !== 'literal') return undefined;
  const { value } = node;
  if (typeof value === 'string') return fixed(codePoints(value));
  return fixed(value instanceof Uint8Array ? value.length : 1);
}

function isScalar(of: Type): boolean {
  switch (of.kind) {
    case 'bool':
    case 'double':
    case 'duration':
    case 'int':
    case 'timestamp':
    case 'uint':
      return true;
    case 'wrapper':
      return isScalar(parameterOf(of, 0));
    default:
      return isOptional(of) && isScalar(parameterOf(of, 0));
  }
}
