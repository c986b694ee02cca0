/** Compiles the source of an expression: parse, check, plan, then code or closures. */
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
  /** Skips type checking; type errors then occur at run time. */
  readonly unchecked?: boolean;
  /** The back end. `auto` generates code for expressions that run often, unless the host forbids code generation. */
  readonly backend?: 'auto' | 'code' | 'closures';
  /** The cost limit of one evaluation; by default 1,000,000 as in Kubernetes. */
  readonly costLimit?: number;
  /** Called with the value of every sub-expression whenever it is computed, for coverage. */
  readonly watch?: (node: Expr, value: Result) => void;
  readonly maxSize?: number;
  readonly maxDepth?: number;
  /** The parsed text, if it was already parsed with the macros and language options of the environment. */
  readonly parsed?: Parsed;
}

export interface Compiled {
  readonly source: Source;
  readonly ast: Expr;
  /** Types and references of every node. They are large and rarely needed, so every access computes them again. */
  readonly checked: Checked;
  readonly program: Program;
  /** The static type of the result. */
  readonly type: Type;
  readonly evaluate: Evaluate;
  readonly issues: readonly [];
}

/** An expression that does not compile, with all its issues. */
export interface Rejected {
  readonly source: Source;
  readonly evaluate?: undefined;
  readonly issues: readonly [Issue, ...Issue[]];
  /** The issues as text, each with line, column and a caret. */
  readonly message: string;
}

/**
 * `compile` parses, type-checks and compiles an expression. A rejected expression has no `evaluate`, but `issues` and a
 * `message`.
 *
 *     const env = environment('kubernetes-1.36', { variables: { object: types.DYN } });
 *     const compiled = compile('object.spec.replicas <= 5', env);
 *     if (compiled.evaluate === undefined) throw new Error(compiled.message);
 *     compiled.evaluate({ object: { spec: { replicas: 3 } } }); // true
 */
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
