/**
 * The facts about the parts of an expression during cost estimation: the path of their data, its size, and the contents
 * of loop variables. The walk in estimate.ts records them.
 */
import type { Comprehension, Expr } from '../ast.ts';
import type { Checked } from '../check/checked.ts';
import type { EstimateNode, Range } from '../declarations.ts';
import { codePoints } from '../text.ts';
import { DYN, isOptional, parameterOf, type Type } from '../types.ts';
import type { Value } from '../values.ts';
import { fixed, union } from './ranges.ts';

/**
 * `SizeBounds` returns the maximum size of the value at a path, or undefined if it is unknown. A path starts with the
 * name of a variable; `@items`, `@values`, `@keys` and `@indices` stand for the contents of a list or map.
 */
export type SizeBounds = (path: readonly string[]) => number | undefined;

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

export class Knowledge {
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

  type(node: Expr): Type {
    return this.#checked.types.get(node.id) ?? DYN;
  }

  path(node: Expr): readonly string[] | undefined {
    if (node.kind === 'identifier') {
      const local = this.local(node.name);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(node.id);
  }

  /** Like `size`, but returns the full range if the size is unknown. */
  sizeOf(node: Expr): Range {
    return this.size(node) ?? this.#unknown;
  }

  size(node: Expr): Range | undefined {
    const known = this.#sizes.get(node.id) ?? literalSize(node);
    if (known !== undefined) return known;
    const bound = this.#bound(this.path(node));
    if (bound !== undefined) {
      this.#sizes.set(node.id, bound);
      return bound;
    }
    if (isScalar(this.type(node))) return fixed(1);
    return node.kind === 'identifier' ? this.local(node.name)?.size : undefined;
  }

  #bound(path: readonly string[] | undefined): Range | undefined {
    if (path === undefined || path.length === 0) return undefined;
    const max = this.#bounds(path);
    return max === undefined ? undefined : { min: 0, max };
  }

  entrySizes(node: Expr): EntrySizes | undefined {
    const known = this.#entries.get(node.id);
    if (known !== undefined) return known;
    return node.kind === 'identifier' ? this.local(node.name)?.entries : undefined;
  }

  /** Describes an argument to the cost estimate of an overload. */
  describe(node: Expr): EstimateNode {
    const size = this.size(node);
    const of = this.type(node);
    const path = this.path(node);
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

  // ---- facts recorded by the walk --------------------------------------------------------------------------------

  setPath(node: Expr, path: readonly string[]): void {
    this.#paths.set(node.id, path);
  }

  setSize(node: Expr, size: Range): void {
    this.#sizes.set(node.id, size);
  }

  setEntries(node: Expr, entries: EntrySizes): void {
    this.#entries.set(node.id, entries);
  }

  copySizes(to: Expr, from: Expr): void {
    const size = this.size(from);
    const entries = this.entrySizes(from);
    if (size !== undefined) this.#sizes.set(to.id, size);
    if (entries !== undefined) this.#entries.set(to.id, entries);
  }

  joinEntries(node: Expr, left: Expr, right: Expr): void {
    const a = this.entrySizes(left);
    const b = this.entrySizes(right);
    if (a === undefined || b === undefined) return;
    this.#entries.set(node.id, { container: a.container, key: union(a.key, b.key), value: union(a.value, b.value) });
  }

  // ---- loop variables --------------------------------------------------------------------------------------------

  local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #enter(name: string, variable: LocalVariable): void {
    const known = this.#locals.get(name);
    if (known === undefined) this.#locals.set(name, [variable]);
    else known.push(variable);
  }

  leave(name: string): void {
    this.#locals.get(name)?.pop();
  }

  enterAccumulator(node: Comprehension): void {
    this.#enter(node.accumulator, {
      path: this.path(node.initial),
      size: this.size(node.initial),
      entries: this.entrySizes(node.initial),
    });
  }

  /** Returns the names of the entered variables, for `leave`. */
  enterVariables(node: Comprehension): readonly string[] {
    const entries = this.entrySizes(node.range);
    const kind = entries?.container ?? this.type(node.range).kind;
    const path = this.path(node.range) ?? [];
    const keys = { path: [...path, kind === 'list' ? '@indices' : '@keys'], size: entries?.key, entries: undefined };
    const values = {
      path: [...path, kind === 'list' ? '@items' : '@values'],
      size: entries?.value,
      entries: undefined,
    };
    if (node.variable2 === undefined) {
      this.#enter(node.variable, kind === 'list' ? values : keys);
      return [node.variable];
    }
    // cel-go appends to the same slice twice; if it has spare capacity, the second name overwrites the first.
    const shared = path.length > 2 && !Number.isInteger(Math.log2(path.length));
    this.#enter(node.variable, shared ? { ...keys, path: values.path } : keys);
    this.#enter(node.variable2, values);
    return [node.variable, node.variable2];
  }
}

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
