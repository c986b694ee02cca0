/** Lists the expressions of a policy with their expected types, in the order in which they may refer to each other. */
import { type Environment, type Expr, parse, type Source } from '../../cel/index.ts';
import { policyEnvironment } from '../engine/environment.ts';
import type { ExpressionModel, PolicyModel } from '../model.ts';

export type Wanted = 'bool' | 'string' | 'string or null' | 'anything';

export interface CheckedExpression {
  readonly path: string;
  readonly source: Source;
  readonly ast: Expr;
  readonly wanted: Wanted;
  /** The variable name under which later expressions read it. */
  readonly variable?: string;
}

/** Expressions that do not parse are omitted; compiling the policy reports them. */
export function expressionsOf(model: PolicyModel): readonly CheckedExpression[] {
  const found: CheckedExpression[] = [];
  const add = (each: ExpressionModel | undefined, wanted: Wanted, variable?: string): void => {
    if (each === undefined) return;
    const { source, ast } = parseOnce(each.text);
    if (ast !== undefined)
      found.push({ path: each.path, source, ast, wanted, ...(variable === undefined ? {} : { variable }) });
  };
  for (const variable of model.variables) add(variable, 'anything', variable.name);
  for (const condition of model.matchConditions) add(condition, 'bool');
  for (const rule of model.rules) {
    add(rule.expression, 'bool');
    add(rule.messageExpression, 'string');
    for (const { value } of rule.auditAnnotations) add(value, 'string or null');
  }
  for (const mutation of model.mutations) add(mutation.expression, 'anything');
  return found;
}

/** `plainEnvironment` returns the names that every expression of the policy may use, with an untyped object. */
export function plainEnvironment(model: PolicyModel): Environment {
  return policyEnvironment({
    native: model.kind !== 'Policy',
    params: model.params !== undefined,
    authorizer: true,
    context: model.context.map(({ name }) => name),
  });
}

const { macros, language } = policyEnvironment({ native: true, params: false, authorizer: false, context: [] });

function parseOnce(text: string): { readonly source: Source; readonly ast?: Expr } {
  const { source, ast } = parse(text, { macros, ...language });
  return { source, ...(ast === undefined ? {} : { ast }) };
}
