/**
 * Rules that count how many of some conditions hold, as "exactly one of" is written: `[has(self.a), has(self.b)].filter(x, x).size() == 1`,
 * or `(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) == 1`.
 */
import type { Call, Comprehension, Expr } from '../../cel/index.ts';
import { all, any, type Formula } from './formula.ts';

export interface Cardinality {
  /** The counted conditions. All of them are evaluated. */
  readonly conditions: readonly Expr[];
  /** The counts for which the rule is true. */
  readonly counts: readonly number[];
  /** The counts for which the rule is false. */
  readonly otherCounts: readonly number[];
}

const MAX_CLAUSES = 500;
const HOLDS: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  '_==_': (left, right) => left === right,
  '_<_': (left, right) => left < right,
  '_<=_': (left, right) => left <= right,
  '_>_': (left, right) => left > right,
  '_>=_': (left, right) => left >= right,
};

export function cardinalityOf(node: Expr): Cardinality | undefined {
  if (node.kind === 'comprehension') {
    const conditions = node.macro?.function === 'exists_one' ? listed(node) : undefined;
    return conditions === undefined ? undefined : bounded(conditions, (count) => count === 1);
  }
  const holds = node.kind === 'call' ? HOLDS[node.function] : undefined;
  if (holds === undefined) return undefined;
  const [left, right] = (node as Call).args as [Expr, Expr];
  const isSwapped = whole(left) !== undefined;
  const limit = whole(left) ?? whole(right);
  const conditions = limit === undefined ? undefined : counted(isSwapped ? right : left);
  if (limit === undefined || conditions === undefined) return undefined;
  return bounded(conditions, (count) => (isSwapped ? holds(limit, count) : holds(count, limit)));
}

/**
 * The formula for: the number of true conditions is one of `counts`. `is` returns the formula for one condition to be
 * true, or false.
 */
export function isCounted(
  conditions: readonly Expr[],
  counts: readonly number[],
  is: (condition: Expr, holds: boolean) => Formula,
): Formula {
  const total = conditions.length;
  const starts = counts.filter((each) => !counts.includes(each - 1));
  return any(
    ...starts.map((low) => {
      let high = low;
      while (counts.includes(high + 1)) high++;
      // At least `low`: of any total - low + 1 conditions, one is true. At most `high`: of any high + 1 conditions, one
      // is false.
      const atLeast =
        low === 0 ? [] : subsets(conditions, total - low + 1).map((set) => any(...set.map((each) => is(each, true))));
      const atMost =
        high === total ? [] : subsets(conditions, high + 1).map((set) => any(...set.map((each) => is(each, false))));
      return all(...atLeast, ...atMost);
    }),
  );
}

/** Returns undefined if the formula would have too many alternatives. */
function bounded(conditions: readonly Expr[], isTrue: (count: number) => boolean): Cardinality | undefined {
  const all = Array.from({ length: conditions.length + 1 }, (_, count) => count);
  if (all.some((size) => choose(conditions.length, size) > MAX_CLAUSES)) return undefined;
  return { conditions, counts: all.filter(isTrue), otherCounts: all.filter((count) => !isTrue(count)) };
}

function counted(node: Expr): readonly Expr[] | undefined {
  if (node.kind !== 'call') return undefined;
  const [first, second, third] = node.args as [Expr, Expr, Expr];
  if (node.function === 'size') {
    const list = node.target ?? first;
    return list.kind === 'comprehension' && list.macro?.function === 'filter' ? listed(list) : undefined;
  }
  if (node.function === '_?_:_') return whole(second) === 1 && whole(third) === 0 ? [first] : undefined;
  if (node.function !== '_+_') return undefined;
  const [left, right] = [counted(first), counted(second)];
  return left === undefined || right === undefined ? undefined : [...left, ...right];
}

/** The elements of a list literal that a macro iterates over and only tests for truth. */
function listed({ range, variable, variable2, step }: Comprehension): readonly Expr[] | undefined {
  const asked = step.kind === 'call' && step.function === '_?_:_' ? step.args[0] : undefined;
  if (asked === undefined || variable2 !== undefined || range.kind !== 'list' || range.optional.length > 0)
    return undefined;
  const isVariable = (node: Expr | undefined): boolean => node?.kind === 'identifier' && node.name === variable;
  if (isVariable(asked)) return range.elements;
  if (asked.kind !== 'call' || asked.function !== '_==_') return undefined;
  const others = asked.args.filter((each) => !isVariable(each));
  const [other] = others;
  return others.length === 1 && other?.kind === 'literal' && other.value === true ? range.elements : undefined;
}

const whole = (node: Expr): number | undefined =>
  node.kind === 'literal' && typeof node.value === 'number' && Number.isSafeInteger(node.value)
    ? node.value
    : undefined;

function subsets<Each>(values: readonly Each[], size: number): readonly (readonly Each[])[] {
  if (size === 0) return [[]];
  return values.flatMap((first, at) => subsets(values.slice(at + 1), size - 1).map((rest) => [first, ...rest]));
}

const choose = (total: number, size: number): number =>
  size === 0 ? 1 : (choose(total, size - 1) * (total - size + 1)) / size;
