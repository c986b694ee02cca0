/**
 * Measures which parts of its expressions the tests of a policy cover. A boolean part must have been both true and
 * false: each operand of `&&` and `||`, the condition of `?:` and its branches, and the predicate of a loop. Any other
 * part must have been evaluated.
 */
import { children, type Expr, type Result, reads, type Source } from '../../cel/index.ts';

type Need = 'true' | 'false' | 'computed';

export interface Uncovered {
  /** The field of the policy, such as `spec.rules[0].expression`. */
  readonly path: string;
  /** The position in the text of the field, from 1. */
  readonly line: number;
  readonly column: number;
  readonly text: string;
  /** The outcome that no test has seen. */
  readonly never: Need;
}

export interface Coverage {
  readonly covered: number;
  readonly total: number;
  readonly missing: readonly Uncovered[];
}

/** Measures the coverage of one expression. */
export class ExpressionCoverage {
  readonly path: string;
  readonly #points = new Map<number, { readonly node: Expr; readonly needs: readonly Need[] }>();
  readonly #seen = new Map<number, Set<Need>>();
  #source: Source | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** `decides` means that both true and false must be seen, as for a rule; otherwise evaluation is enough. */
  expect(source: Source, ast: Expr, decides: boolean): void {
    this.#source = source;
    if (!decides) this.#points.set(ast.id, { node: ast, needs: ['computed'] });
    for (const node of questions(ast, decides)) this.#points.set(node.id, { node, needs: ['true', 'false'] });
  }

  readonly watch = (node: Expr, value: Result): void => {
    const seen = this.#seen.get(node.id);
    const need: Need = typeof value === 'boolean' ? (value ? 'true' : 'false') : 'computed';
    if (seen === undefined) this.#seen.set(node.id, new Set([need, 'computed']));
    else seen.add(need);
  };

  coverage(): Coverage {
    const source = this.#source;
    const missing: Uncovered[] = [];
    let total = 0;
    for (const { node, needs } of this.#points.values()) {
      total += needs.length;
      const never = needs.filter((need) => this.#seen.get(node.id)?.has(need) !== true);
      for (const need of never) {
        if (source === undefined) continue;
        const { start, end } = withParentheses(source.text, node);
        const { line, column } = source.position(start);
        const text = shortened(source.text.slice(start, end).replace(/\s+/g, ' '));
        missing.push({ path: this.path, line, column, text, never: need });
      }
    }
    return { covered: total - missing.length, total, missing };
  }
}

export function sum(parts: readonly Coverage[]): Coverage {
  return {
    covered: parts.reduce((all, each) => all + each.covered, 0),
    total: parts.reduce((all, each) => all + each.total, 0),
    missing: parts.flatMap((each) => each.missing),
  };
}

/** `percent` rounds down, so that 100 means complete coverage. */
export const percent = ({ covered, total }: Pick<Coverage, 'covered' | 'total'>): number =>
  total === 0 ? 100 : Math.floor((covered * 100) / total);

const MAX_TEXT = 80;
const shortened = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text);

/** Extends the range of a node by the parentheses around its first or last part, for display. */
function withParentheses(text: string, { start, end }: Expr): { start: number; end: number } {
  const place = { start, end };
  let open = 0;
  for (const character of text.slice(start, end)) {
    if (character === '(') open++;
    else if (character === ')' && open > 0) open--;
    else if (character === ')') place.start = text.lastIndexOf('(', place.start - 1);
  }
  for (; open > 0; open--) place.end = text.indexOf(')', place.end) + 1;
  return place.start < 0 || place.end === 0 ? { start, end } : place;
}

/** Returns the smallest boolean parts that affect the result. */
function questions(ast: Expr, decides: boolean): readonly Expr[] {
  const found: Expr[] = [];
  visit(ast, decides, found);
  return found;
}

function visit(node: Expr, decides: boolean, found: Expr[]): void {
  if (node.kind === 'comprehension') {
    if (decides) found.push(node);
    visit(node.range, false, found);
    // The step of the loop is `accumulator && body`, `body ? … : …` and so on; only the body is counted, not what the
    // macro added.
    visit(node.step, false, found);
    // Only cel.bind has its body here.
    visit(node.result, false, found);
    return;
  }
  if (node.kind === 'call') {
    const [first, second, third] = node.args;
    switch (node.function) {
      case '_&&_':
      case '_||_':
        for (const each of node.args) visit(each, true, found);
        return;
      case '_?_:_':
        visit(first as Expr, true, found);
        visit(second as Expr, decides, found);
        visit(third as Expr, decides, found);
        return;
      case '!_':
        visit(first as Expr, decides, found);
        return;
    }
  }
  // A sub-expression that reads nothing has the same value in every test.
  if (decides && !isAccumulator(node) && readsAnything(node)) found.push(node);
  for (const child of children(node)) visit(child, false, found);
}

const isAccumulator = (node: Expr): boolean => node.kind === 'identifier' && node.name.startsWith('@');

const readsAnything = (node: Expr): boolean => node.kind !== 'literal' && (hasLocal(node) || reads(node).length > 0);

/** The parts of a loop are counted separately. */
function hasLocal(node: Expr): boolean {
  return node.kind === 'identifier' || (node.kind !== 'comprehension' && children(node).some(hasLocal));
}
