/** Creates nodes with new ids: for the parser at given positions, for macros at the position of their call. */
import type {
  Call,
  Expr,
  Identifier,
  ListLiteral,
  Literal,
  MapEntry,
  MapLiteral,
  Select,
  StructField,
  StructLiteral,
} from '../ast.ts';
import type { MacroBuilder } from '../declarations.ts';
import type { Value } from '../values.ts';

/** The name is not a valid identifier, so no expression can refer to it. */
export const ACCUMULATOR = '@result';

export class Builder {
  #id = 0;
  readonly #report: (offset: number, message: string) => void;

  constructor(report: (offset: number, message: string) => void) {
    this.#report = report;
  }

  literalAt(value: Value, start: number, end: number): Literal {
    return { kind: 'literal', id: ++this.#id, offset: start, start, end, value };
  }

  identifierAt(name: string, start: number, end: number): Identifier {
    return { kind: 'identifier', id: ++this.#id, offset: start, start, end, name };
  }

  select(operand: Expr, field: string, test: boolean, offset: number, start: number, end: number): Select {
    return { kind: 'select', id: ++this.#id, offset, start, end, operand, field, test };
  }

  call(name: string, args: readonly Expr[], offset: number, start: number, end: number, target?: Expr): Call {
    const node = { kind: 'call', id: ++this.#id, offset, start, end, function: name, args } as const;
    return target === undefined ? node : { ...node, target };
  }

  listAt(elements: readonly Expr[], optional: readonly number[], start: number, end: number): ListLiteral {
    return { kind: 'list', id: ++this.#id, offset: start, start, end, elements, optional };
  }

  mapAt(entries: readonly MapEntry[], start: number, end: number): MapLiteral {
    return { kind: 'map', id: ++this.#id, offset: start, start, end, entries };
  }

  entry(key: Expr, value: Expr, optional: boolean): MapEntry {
    return { id: ++this.#id, key, value, optional };
  }

  field(name: string, value: Expr, optional: boolean, offset: number): StructField {
    return { id: ++this.#id, name, value, optional, offset };
  }

  struct(typeName: string, fields: readonly StructField[], offset: number, start: number, end: number): StructLiteral {
    return { kind: 'struct', id: ++this.#id, offset, start, end, typeName, fields };
  }

  /** Runs a macro with a builder whose nodes have the position of `call`. */
  at<T>(call: Call, expand: (builder: MacroBuilder) => T): T {
    const { offset, start, end } = call;
    const builder: MacroBuilder = {
      accumulator: ACCUMULATOR,
      literal: (value) => ({ ...this.literalAt(value, start, end), offset }),
      identifier: (name) => ({ ...this.identifierAt(name, start, end), offset }),
      select: (operand, field, test = false) => this.select(operand, field, test, offset, start, end),
      call: (name, ...args) => this.call(name, args, offset, start, end),
      memberCall: (name, target, ...args) => this.call(name, args, offset, start, end, target),
      list: (...elements) => ({ ...this.listAt(elements, [], start, end), offset }),
      map: (...entries) => {
        const made = entries.map((entry) => this.entry(entry.key, entry.value, entry.optional ?? false));
        return { ...this.mapAt(made, start, end), offset };
      },
      comprehension: (parts) => ({
        kind: 'comprehension',
        id: ++this.#id,
        offset,
        start,
        end,
        accumulator: ACCUMULATOR,
        ...parts,
      }),
      copy: (node) => this.#copy(node),
      error: (node, message) => {
        this.#report(node.offset, message);
        return this.literalAt(null, start, end);
      },
    };
    return expand(builder);
  }

  #copy(node: Expr): Expr {
    const id = ++this.#id;
    switch (node.kind) {
      case 'literal':
      case 'identifier':
        return { ...node, id };
      case 'select':
        return { ...node, id, operand: this.#copy(node.operand) };
      case 'call': {
        const args = node.args.map((each) => this.#copy(each));
        return node.target === undefined
          ? { ...node, id, args }
          : { ...node, id, args, target: this.#copy(node.target) };
      }
      case 'list':
        return { ...node, id, elements: node.elements.map((each) => this.#copy(each)) };
      case 'map':
        return {
          ...node,
          id,
          entries: node.entries.map((each) => this.entry(this.#copy(each.key), this.#copy(each.value), each.optional)),
        };
      case 'struct':
        return {
          ...node,
          id,
          fields: node.fields.map((each) => ({ ...each, id: ++this.#id, value: this.#copy(each.value) })),
        };
      case 'comprehension':
        return {
          ...node,
          id,
          range: this.#copy(node.range),
          initial: this.#copy(node.initial),
          condition: this.#copy(node.condition),
          step: this.#copy(node.step),
          result: this.#copy(node.result),
        };
    }
  }
}
