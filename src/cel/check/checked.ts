/** The result of checking: the types of an expression and the meaning of its names. */
import type { Expr } from '../ast.ts';
import type { Overload } from '../declarations.ts';
import type { Environment } from '../environment.ts';
import type { Issue, Source } from '../source.ts';
import type { Type } from '../types.ts';
import type { TypeValue } from '../values.ts';

/** The meaning of a name in the source. */
export type Reference =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'local'; readonly name: string }
  | { readonly kind: 'type'; readonly value: TypeValue }
  /** `member` is false for a call written `a.b(…)` that means the global function `a.b`. */
  | {
      readonly kind: 'function';
      readonly name: string;
      readonly overloads: readonly Overload[];
      readonly member: boolean;
      /** Set for an unchecked expression: `overloads` then holds every overload of the function. */
      readonly unchecked?: boolean;
    };

export interface Checked {
  readonly source: Source;
  readonly ast: Expr;
  readonly environment: Environment;
  /** Types, keyed by node id. */
  readonly types: ReadonlyMap<number, Type>;
  readonly references: ReadonlyMap<number, Reference>;
  readonly type: Type;
}

export interface CheckResult {
  readonly checked?: Checked;
  readonly issues: readonly Issue[];
}
