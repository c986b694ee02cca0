/**
 * Finds the variables and fields that an expression reads, from its syntax tree: whether it needs `request`, or which
 * kinds to watch.
 */
import { type Comprehension, children, type Expr } from './ast.ts';

/** A variable and a path into it. Everything below the path may be read too. */
export interface Read {
  readonly variable: string;
  /** Field names; `*` is an element of a list or a computed key. */
  readonly path: readonly string[];
  /** The node that ends the path. */
  readonly node: Expr;
}

/** `reads` lists each path once, in source order, including reads through the variables of loops and `cel.bind`. */
export function reads(ast: Expr): readonly Read[] {
  const found: Read[] = [];
  visit(ast, new Map(), found);
  const known = new Map<string, Read>();
  for (const read of found) {
    const key = JSON.stringify([read.variable, ...read.path]);
    if (!known.has(key)) known.set(key, read);
  }
  return [...known.values()];
}

/** The path that a loop variable stands for; null if it is not part of a variable. */
type Scope = ReadonlyMap<string, Way | null>;
type Way = Omit<Read, 'node'>;

/** Returns the path of `node` itself, for reads that continue from it under another name. */
function visit(node: Expr, scope: Scope, found: Read[]): Way | null | undefined {
  const way = wayOf(node, scope, found);
  if (way === undefined) visitInside(node, scope, found);
  else if (way !== null) found.push({ ...way, node });
  return way;
}

function visitInside(node: Expr, scope: Scope, found: Read[]): void {
  if (node.kind === 'comprehension') visitLoop(node, scope, found);
  else for (const child of children(node)) visit(child, scope, found);
}

/**
 * Returns the path of a chain of selections; null if it does not start at a host variable, undefined if it is no chain.
 */
function wayOf(node: Expr, scope: Scope, found: Read[]): Way | null | undefined {
  if (node.kind === 'identifier') {
    const local = scope.get(node.name);
    return local === undefined ? { variable: node.name.replace(/^\./, ''), path: [] } : local;
  }
  if (node.kind === 'select') return longer(wayOf(node.operand, scope, found), node.field);
  if (node.kind !== 'call' || !INDEXING.has(node.function)) return undefined;
  const [operand, key] = node.args as [Expr, Expr];
  const way = wayOf(operand, scope, found);
  if (way === undefined) return undefined;
  visit(key, scope, found);
  return longer(way, key.kind === 'literal' && typeof key.value === 'string' ? key.value : '*');
}

const INDEXING: ReadonlySet<string> = new Set(['_[_]', '_[?_]', '_?._']);

const longer = (way: Way | null | undefined, step: string): Way | null | undefined =>
  way == null ? way : { variable: way.variable, path: [...way.path, step] };

function visitLoop(node: Comprehension, scope: Scope, found: Read[]): void {
  const range = visit(node.range, scope, found);
  const initial = visit(node.initial, scope, found);
  // The range of the loop is also read through the loop variables.
  const element = longer(range, '*') ?? null;
  const accumulating = new Map([...scope, [node.accumulator, initial ?? null]]);
  const looping = new Map([...accumulating, [node.variable, node.variable2 === undefined ? element : null]]);
  if (node.variable2 !== undefined) looping.set(node.variable2, element);
  visit(node.condition, looping, found);
  visit(node.step, looping, found);
  visit(node.result, accumulating, found);
}
