/** Analyzes and rewrites the text of expressions: the variables that they read, and renamed variables. */
import { type Expr, environment, parse, reads } from '../../cel/index.ts';

/** The shorthand names of a Policy, which other systems do not have. */
const SHORTHANDS: ReadonlySet<string> = new Set(['spec', 'metadata', 'status', 'apiVersion', 'kind']);

/**
 * `withoutShorthands` replaces `spec` by `object.spec`, and so on. Text that cannot be parsed is returned unchanged.
 */
export function withoutShorthands(text: string, subject: string): string {
  const ast = tree(text);
  if (ast === undefined) return text;
  const places = new Set<number>();
  findFree(ast, new Set(), places);
  let written = text;
  for (const place of [...places].sort((left, right) => right - left)) {
    written = `${written.slice(0, place)}${subject}.${written.slice(place)}`;
  }
  return written;
}

/** `readsOf` returns the names of the variables that an expression reads; `variables.x` is listed as `x` separately. */
export function readsOf(text: string): {
  readonly names: ReadonlySet<string>;
  readonly variables: ReadonlySet<string>;
} {
  const ast = tree(text);
  const found = ast === undefined ? [] : reads(ast);
  return {
    names: new Set(found.map(({ variable }) => variable)),
    variables: new Set(found.flatMap(({ variable, path }) => (variable === 'variables' ? path.slice(0, 1) : []))),
  };
}

function tree(text: string): Expr | undefined {
  const { macros, language } = environment('kubernetes-1.36');
  return parse(text, { macros, ...language }).ast;
}

/**
 * Finds the positions of shorthand names that no loop variable hides. A macro may copy its argument, so positions are a
 * set.
 */
function findFree(node: Expr, bound: ReadonlySet<string>, places: Set<number>): void {
  switch (node.kind) {
    case 'literal':
      return;
    case 'identifier':
      if (SHORTHANDS.has(node.name) && !bound.has(node.name)) places.add(node.start);
      return;
    case 'select':
      findFree(node.operand, bound, places);
      return;
    case 'call':
      if (node.target !== undefined) findFree(node.target, bound, places);
      for (const each of node.args) findFree(each, bound, places);
      return;
    case 'list':
      for (const each of node.elements) findFree(each, bound, places);
      return;
    case 'map':
      for (const { key, value } of node.entries) {
        findFree(key, bound, places);
        findFree(value, bound, places);
      }
      return;
    case 'struct':
      for (const { value } of node.fields) findFree(value, bound, places);
      return;
    case 'comprehension': {
      findFree(node.range, bound, places);
      findFree(node.initial, bound, places);
      const inside = new Set([...bound, node.accumulator]);
      findFree(node.result, inside, places);
      inside.add(node.variable);
      if (node.variable2 !== undefined) inside.add(node.variable2);
      findFree(node.condition, inside, places);
      findFree(node.step, inside, places);
    }
  }
}
