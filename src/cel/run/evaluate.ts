/** One evaluation from the outside: variables in, a value or an error out, costs accounted for. */
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
 * Shared by the evaluations that one decision is made of. `spent` grows with each; one that would take it over
 * `limit` stops with `cost_exceeded`.
 */
export interface Budget {
  /** Kubernetes gives a policy 10,000,000. */
  readonly limit?: number;
  spent: number;
  /** Asked every hundred turns of a loop or so; true stops the evaluation with `interrupted`. */
  readonly interrupt?: () => boolean;
}

export type Evaluate = (variables: Variables, budget?: Budget) => Result;

interface EvaluateOptions {
  readonly backend?: 'auto' | 'code' | 'closures';
  readonly costLimit?: number;
  /** Sees the value of every part of the expression, as it is computed. Such an evaluation never becomes code. */
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
  // Most expressions run a few times or very often: the first runs do not wait for code, the many get it.
  // Code for a page of expression would take more memory than it saves time.
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
      // An evaluation inside this one, of a variable that is the same expression, may have used the state.
      const anew = { limit: allowed, interrupt: budget?.interrupt, cost: 0 };
      result = thrown === BAIL ? again(interpreted, variables, anew) : fromThrown(thrown);
      if (thrown === BAIL) state.cost = anew.cost;
    }
    if (state.cost > allowed) result = overBudget();
    if (budget !== undefined) {
      budget.spent += state.cost;
      // Variables that were computed on the way have spent from it too.
      if (budget.limit !== undefined && budget.spent > budget.limit) result = overBudget();
    }
    // What ends the whole evaluation (budget, interrupt, a host's value) is an error of the whole expression.
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
