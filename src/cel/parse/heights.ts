/** The height of a tree, counted like cel-go: operators, selections, indexing and calls on a receiver. */
import type { Expr } from '../ast.ts';

export class Heights {
  readonly #known = new Map<Expr, number>();

  /** Records and returns the height of `node`: that of the highest of its `parts`, plus `own`. */
  add(node: Expr, parts: Expr, own: number): number {
    const height = this.#highest(parts) + own;
    if (height > 0) this.#known.set(node, height);
    return height;
  }

  #highest(node: Expr): number {
    switch (node.kind) {
      case 'call': {
        const args = this.#most(node.args);
        return node.target === undefined ? args : Math.max(args, this.#of(node.target));
      }
      case 'select':
        return this.#of(node.operand);
      case 'list':
        return this.#most(node.elements);
      case 'map':
        return node.entries.reduce((height, each) => Math.max(height, this.#of(each.key), this.#of(each.value)), 0);
      case 'struct':
        return node.fields.reduce((height, each) => Math.max(height, this.#of(each.value)), 0);
      default:
        return 0;
    }
  }

  #most(nodes: readonly Expr[]): number {
    let height = 0;
    for (const each of nodes) height = Math.max(height, this.#of(each));
    return height;
  }

  #of(node: Expr): number {
    return this.#known.get(node) ?? 0;
  }
}
