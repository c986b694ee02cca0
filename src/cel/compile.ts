/** Source → something that can be run. */
import type { Expr } from './ast.ts';
import { type Checked, check } from './check/checker.ts';
import { resolve } from './check/resolve.ts';
import { validate } from './check/validate.ts';
import type { Environment } from './environment.ts';
import { type Parsed, parse } from './parse/parser.ts';
import type { Program } from './plan/plan.ts';
import { plan } from './plan/planner.ts';
import { type Evaluate, makeEvaluate } from './run/evaluate.ts';
import { formatIssues, type Issue, type Source } from './source.ts';
import type { Type } from './types.ts';
import type { Result } from './values.ts';

export interface CompileOptions {
  /** Leave types unchecked: what does not fit fails when it runs. */
  readonly unchecked?: boolean;
  /** How to run it. `auto` generates code unless the host forbids that. */
  readonly backend?: 'auto' | 'code' | 'closures';
  /** The largest cost of one evaluation; Kubernetes' 1,000,000 unless said otherwise. */
  readonly costLimit?: number;
  /** Sees the value of every part of the expression each time it is computed: for coverage. */
  readonly watch?: (node: Expr, value: Result) => void;
  readonly maxSize?: number;
  readonly maxDepth?: number;
  /** The text as it was parsed with the macros and the language of the environment, where somebody has done that already. */
  readonly parsed?: Parsed;
}

export interface Compiled {
  readonly source: Source;
  readonly ast: Expr;
  /** Types and references of every node; made anew each time it is asked for, because few ask and it is large. */
  readonly checked: Checked;
  readonly program: Program;
  /** The static type of the result. */
  readonly type: Type;
  readonly evaluate: Evaluate;
  readonly issues: readonly [];
}

/** An expression that cannot be run, and everything that is wrong with it. */
export interface Rejected {
  readonly source: Source;
  readonly evaluate?: undefined;
  readonly issues: readonly [Issue, ...Issue[]];
  /** As text, with a line, a column and a caret for each. */
  readonly message: string;
}

export function compile(text: string, environment: Environment, options: CompileOptions = {}): Compiled | Rejected {
  const parsed =
    options.parsed ?? parse(text, { macros: environment.macros, ...environment.language, ...limits(options) });
  const { source, ast } = parsed;
  if (ast === undefined) return rejected(source, parsed.issues);
  const found = options.unchecked === true ? undefined : check(source, ast, environment);
  if (found !== undefined && found.checked === undefined) return rejected(source, found.issues);
  const checked = found?.checked ?? resolve(source, ast, environment);
  const invalid = found === undefined ? [] : validate(checked);
  if (invalid.length > 0) return rejected(source, invalid);
  const planned = plan(checked);
  const { program } = planned;
  if (program === undefined) return rejected(source, planned.issues);
  return {
    source,
    ast,
    program,
    type: checked.type,
    evaluate: makeEvaluate(program, options),
    issues: [],
    get checked() {
      const again = options.unchecked === true ? undefined : check(source, ast, environment).checked;
      return again ?? resolve(source, ast, environment);
    },
  };
}

const limits = ({ maxSize, maxDepth }: CompileOptions): { maxSize?: number; maxDepth?: number } => ({
  ...(maxSize === undefined ? {} : { maxSize }),
  ...(maxDepth === undefined ? {} : { maxDepth }),
});

function rejected(source: Source, issues: readonly Issue[]): Rejected {
  return { source, issues: issues as readonly [Issue, ...Issue[]], message: formatIssues(source, issues) };
}
