/**
 * The syntax tree. Operators are calls (`_+_`, `_?_:_`, `_[_]`) and macros are expanded; `macro` keeps the original
 * call for the formatter. Offsets count UTF-16 units from the start of the source.
 */
import type { Value } from './values.ts';

interface NodeBase {
  /** The id is unique within its tree. */
  readonly id: number;
  /** The position that errors point at: the operator, the dot or the function name. */
  readonly offset: number;
  /** The whole expression is `source.slice(start, end)`. */
  readonly start: number;
  readonly end: number;
  /** The macro call that this node was expanded from, with its original arguments. */
  readonly macro?: Call;
}

export interface Literal extends NodeBase {
  readonly kind: 'literal';
  readonly value: Value;
}

export interface Identifier extends NodeBase {
  readonly kind: 'identifier';
  /** The name has a leading dot if it is written as `.name`: it then ignores the container and local variables. */
  readonly name: string;
}

export interface Select extends NodeBase {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** Whether the node comes from `has(operand.field)`. */
  readonly test: boolean;
}

export interface Call extends NodeBase {
  readonly kind: 'call';
  readonly function: string;
  readonly target?: Expr;
  readonly args: readonly Expr[];
}

export interface ListLiteral extends NodeBase {
  readonly kind: 'list';
  readonly elements: readonly Expr[];
  /** Indices of the elements written `?x`. */
  readonly optional: readonly number[];
}

export interface MapEntry {
  readonly id: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MapLiteral extends NodeBase {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface StructField {
  readonly id: number;
  readonly name: string;
  readonly offset: number;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface StructLiteral extends NodeBase {
  readonly kind: 'struct';
  readonly typeName: string;
  readonly fields: readonly StructField[];
}

/** A fold over a list or map; every loop macro becomes one, as in cel-go. */
export interface Comprehension extends NodeBase {
  readonly kind: 'comprehension';
  readonly range: Expr;
  readonly variable: string;
  /** With two variables, `variable` is the index or key and `variable2` the element or value. */
  readonly variable2?: string;
  readonly accumulator: string;
  readonly initial: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

export type Expr = Literal | Identifier | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension;

/** `children` returns the direct sub-expressions in source or execution order. */
export function children(node: Expr): readonly Expr[] {
  switch (node.kind) {
    case 'literal':
    case 'identifier':
      return [];
    case 'select':
      return [node.operand];
    case 'call':
      return node.target === undefined ? node.args : [node.target, ...node.args];
    case 'list':
      return node.elements;
    case 'map':
      return node.entries.flatMap((entry) => [entry.key, entry.value]);
    case 'struct':
      return node.fields.map((field) => field.value);
    case 'comprehension':
      return [node.range, node.initial, node.condition, node.step, node.result];
  }
}

/** `walk` visits every node, parents first. `visit` returns false to skip the descendants of a node. */
export function walk(node: Expr, visit: (node: Expr, parent?: Expr) => boolean | undefined): void {
  const step = (each: Expr, parent?: Expr): void => {
    if (visit(each, parent) === false) return;
    for (const child of children(each)) step(child, each);
  };
  step(node);
}
