/** Evaluation: variables in, a value or an error out, with its cost. */
import type { Expr } from '../ast.ts';
import { codeAllowed, compileCode, type Run } from '../codegen/index.ts';
import { BAIL, type State } from '../codegen/runtime.ts';
import { safeVariables } from '../host.ts';
import type { Program } from '../plan/plan.ts';
import type { Result } from '../values.ts';
import { type Closure, compileClosures } from './closures.ts';
import { at, Frame, fromThrown, overBudget, type Variables } from './frame.ts';

const RUNS_BEFORE_CODE = 4;
const MAX_CODE_SIZE = 2000;

export const DEFAULT_COST_LIMIT = 1_000_000;

/**
 * A cost budget that several evaluations share. Each evaluation adds its cost to `spent`; one that would exceed `limit`
 * stops with the error `cost_exceeded`.
 */
export interface Budget {
  /** Kubernetes gives a policy 10,000,000. */
  readonly limit?: number;
  spent: number;
  /** Called about every hundred loop iterations; true stops the evaluation with the error `interrupted`. */
  readonly interrupt?: () => boolean;
}

/**
 * An `Evaluate` function runs a compiled expression. It never throws: errors are values (`CelError`).
 *
 *     const budget: Budget = { spent: 0, limit: 10_000_000 };
 *     const result = compiled.evaluate({ object }, budget);
 *     if (result instanceof CelError) console.error(result.message);
 *     else console.log(result, budget.spent);
 */
export type Evaluate = (variables: Variables, budget?: Budget) => Result;

interface EvaluateOptions {
  readonly backend?: 'auto' | 'code' | 'closures';
  readonly costLimit?: number;
  /** Called with the value of every sub-expression. Such an expression always runs as closures. */
  readonly watch?: (node: Expr, value: Result) => void;
}

export function makeEvaluate(program: Program, options: EvaluateOptions): Evaluate {
  const limit = options.costLimit ?? DEFAULT_COST_LIMIT;
  const { watch } = options;
  const backend = watch === undefined ? (options.backend ?? 'auto') : 'closures';
  let closures: Closure | undefined;
  const interpreted: Run = (variables, state) => {
    closures ??= compileClosures(program, watch && ((plan, value) => watch(plan.node, value)));
    const frame = new Frame(variables, program.locals, state.limit, state.interrupt);
    try {
      return closures(frame);
    } finally {
      state.cost = frame.cost;
    }
  };
  let run = interpreted;
  if (backend === 'code') run = compileCode(program);
  // Expressions run either a few times or very often: the first runs use closures, the later ones generated code.
  // Code for very long expressions would cost more memory than it saves time.
  const worthCode = backend === 'auto' && program.size <= MAX_CODE_SIZE && codeAllowed();
  let patience = worthCode ? RUNS_BEFORE_CODE : 0;
  const state: State = { limit, interrupt: undefined, cost: 0 };
  return (given, budget) => {
    const variables = safeVariables(given, program.variables);
    const allowed = budget?.limit === undefined ? limit : Math.min(limit, budget.limit - budget.spent);
    state.limit = allowed;
    state.interrupt = budget?.interrupt;
    state.cost = 0;
    let result: Result;
    if (patience > 0 && --patience === 0) {
      run = compileCode(program);
      closures = undefined;
    }
    try {
      result = run(variables, state);
    } catch (thrown) {
      // A nested evaluation of the same expression, through a variable, may have used the shared state.
      const retried = { limit: allowed, interrupt: budget?.interrupt, cost: 0 };
      result = thrown === BAIL ? again(interpreted, variables, retried) : fromThrown(thrown);
      if (thrown === BAIL) state.cost = retried.cost;
    }
    if (state.cost > allowed) result = overBudget();
    if (budget !== undefined) {
      budget.spent += state.cost;
      // Variables that were computed during this evaluation have spent from the budget too.
      if (budget.limit !== undefined && budget.spent > budget.limit) result = overBudget();
    }
    // An error without a position (budget, interrupt, host value) belongs to the whole expression.
    return typeof result === 'object' ? at(result, 0) : result;
  };
}

function again(interpreted: Run, variables: Variables, state: State): Result {
  try {
    return interpreted(variables, state);
  } catch (thrown) {
    return fromThrown(thrown);
  }
}
