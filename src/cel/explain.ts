/**
 * Explains a result: the value of every sub-expression, as data and as a diagram under the source. It evaluates with
 * instrumented closures, which is slower than `evaluate` and gives the same result.
 */
import { type Expr, walk } from './ast.ts';
import type { Compiled } from './compile.ts';
import { safeVariables } from './host.ts';
import type { Plan, Qualifier } from './plan/plan.ts';
import { compileClosures } from './run/closures.ts';
import { type Budget, DEFAULT_COST_LIMIT } from './run/evaluate.ts';
import { Frame, fromThrown, overBudget, type Variables } from './run/frame.ts';
import { DEFAULT_SHOWN, show } from './show.ts';
import type { Result } from './values.ts';

export interface ExplainOptions {
  /** The maximum length of a shown value, in characters; 80 by default. */
  readonly maxValue?: number;
  /** The maximum number of steps; 200 by default. */
  readonly maxSteps?: number;
  readonly budget?: Budget;
  readonly costLimit?: number;
  /**
   * Called for each step. A returned text is shown in place of the value, and the value is removed from the step: for
   * example for everything that was read from `object.data` of a Secret.
   */
  readonly redact?: (step: { text: string; path: string | undefined; value: Result }) => string | undefined;
}

export interface Step {
  /** The position in the source: `source.slice(start, end)`, and the offset that diagrams and errors point at. */
  readonly start: number;
  readonly end: number;
  readonly offset: number;
  readonly text: string;
  /** The last value; absent if it was redacted. */
  readonly value?: Result;
  readonly shown: string;
  /** The number of evaluations: more than one inside a loop. */
  readonly count: number;
}

export interface Explanation {
  readonly result: Result;
  readonly cost: number;
  /** The steps in source order. */
  readonly steps: readonly Step[];
  /** Whether steps were omitted because of `maxSteps`. */
  readonly truncated: boolean;
  /** The source with the values under it, power-assert style. */
  readonly picture: string;
}

/**
 * `explain` evaluates a compiled expression and records the value of every sub-expression.
 *
 *     const { result, picture, steps } = explain(compiled, { object: { spec: { replicas: 9 } } });
 *     console.log(picture); // the source, with the values below it
 */
export function explain(compiled: Compiled, variables: Variables, options: ExplainOptions = {}): Explanation {
  const { source, program, ast } = compiled;
  const hidden = expandedBy(ast);
  const seen = new Map<number, { node: Expr; value: Result; count: number }>();
  const closure = compileClosures(program, (plan, value) => {
    const node = plan.node;
    if (hidden.has(node.id) || isConstant(plan)) return;
    const known = seen.get(node.id);
    if (known === undefined) seen.set(node.id, { node, value, count: 1 });
    else {
      known.value = value;
      known.count++;
    }
  });
  const safe = safeVariables(variables, program.variables);
  const { budget, costLimit = DEFAULT_COST_LIMIT } = options;
  const limit = budget?.limit === undefined ? costLimit : Math.min(costLimit, budget.limit - budget.spent);
  const frame = new Frame(safe, program.locals, limit, budget?.interrupt);
  let result = run(() => closure(frame));
  if (frame.cost > frame.limit) result = overBudget();
  if (budget !== undefined) {
    budget.spent += frame.cost;
    if (budget.limit !== undefined && budget.spent > budget.limit) result = overBudget();
  }
  const ordered = [...seen.values()].sort((a, b) => a.node.start - b.node.start || b.node.end - a.node.end);
  const maxSteps = options.maxSteps ?? 200;
  const steps = ordered.slice(0, maxSteps).map(({ node, value, count }) => {
    const text = source.text.slice(node.start, node.end);
    return makeStep(node, text, value, count, options);
  });
  const picture = draw(source.text, steps);
  return { result, cost: frame.cost, steps, truncated: ordered.length > maxSteps, picture };
}

function run(evaluate: () => Result): Result {
  try {
    return evaluate();
  } catch (thrown) {
    return fromThrown(thrown);
  }
}

const isConstant = (plan: Plan | Qualifier): boolean => 'op' in plan && plan.op === 'constant';

/** Returns the nodes that macro expansion created: they have exactly the position of the macro call. */
function expandedBy(ast: Expr): ReadonlySet<number> {
  const hidden = new Set<number>();
  const macros = new Set<string>();
  const place = (node: Expr): string => `${node.start}:${node.end}:${node.offset}`;
  walk(ast, (node) => {
    if (node.macro !== undefined) macros.add(place(node));
    else if (macros.has(place(node))) hidden.add(node.id);
    return true;
  });
  return hidden;
}

function makeStep(node: Expr, text: string, value: Result, count: number, options: ExplainOptions): Step {
  const place = { start: node.start, end: node.end, offset: pointAt(node), text, count };
  const replaced = options.redact?.({ text, path: pathOf(node), value });
  if (replaced !== undefined) return { ...place, shown: replaced };
  return { ...place, value, shown: show(value, options.maxValue ?? DEFAULT_SHOWN) };
}

/** Returns `object.spec["x"]` as a path for a node that reads data; undefined for computed values. */
function pathOf(node: Expr): string | undefined {
  if (node.kind === 'identifier') return node.name;
  if (node.kind === 'select') {
    const operand = pathOf(node.operand);
    return operand === undefined ? undefined : `${operand}.${node.field}`;
  }
  if (node.kind !== 'call' || !/^_(\[\??_\]|\?\._)$/.test(node.function)) return undefined;
  const [operand, key] = node.args as [Expr, Expr];
  const prefix = pathOf(operand);
  if (prefix === undefined) return undefined;
  return key.kind === 'literal' && typeof key.value === 'string' ? `${prefix}.${key.value}` : `${prefix}[]`;
}

/** Returns the offset of the field or function name, the operator or the bracket. */
function pointAt(node: Expr): number {
  if (node.kind === 'select' && !node.test) return node.offset + 1;
  const written = node.macro ?? node;
  if (written.kind !== 'call' || /^[_!@-]/.test(written.function)) return node.offset;
  return Math.max(node.start, written.offset - written.function.length);
}

const MAX_PICTURE = 20_000;

/** Draws each source line with the values of its sub-expressions below it, rightmost first. */
function draw(text: string, steps: readonly Step[]): string {
  const rows: string[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    const end = start + line.length;
    const here = steps
      .filter((each) => each.offset >= start && each.offset <= end)
      .map((each) => ({ column: [...line.slice(0, each.offset - start)].length, shown: each.shown }))
      .sort((a, b) => a.column - b.column);
    rows.push(line.replaceAll('\t', ' '), ...drawValues(here));
    start = end + 1;
    if (rows.join('\n').length > MAX_PICTURE) break;
  }
  return rows.join('\n').slice(0, MAX_PICTURE);
}

function drawValues(values: readonly { column: number; shown: string }[]): string[] {
  // If two sub-expressions point at the same position, the outer one is drawn.
  const unique = values.filter((each, index) => each.column !== values[index - 1]?.column);
  const rows = unique.length === 0 ? [] : [place(unique.map((each) => [each.column, '|']))];
  let left = [...unique];
  while (left.length > 0) {
    const row: [number, string][] = [];
    const rest: typeof left = [];
    let free = Number.POSITIVE_INFINITY;
    for (const each of left.toReversed()) {
      const fits = each.column + each.shown.length < free;
      row.unshift([each.column, fits ? each.shown : '|']);
      if (!fits) rest.unshift(each);
      free = each.column;
    }
    rows.push(place(row));
    left = rest;
  }
  return rows;
}

function place(marks: readonly (readonly [number, string])[]): string {
  let row = '';
  for (const [column, mark] of marks) row = row.padEnd(column) + mark;
  return row;
}
