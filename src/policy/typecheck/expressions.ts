/** Lists the expressions of a policy with their expected types, in the order in which they may refer to each other. */
import { type Environment, type Expr, parse, type Source } from '../../cel/index.ts';
import { policyEnvironment } from '../engine/environment.ts';
import type { ExpressionModel, PolicyModel } from '../model.ts';
import type { Steps } from '../steps.ts';

export type Wanted = 'bool' | 'string' | 'string or null' | 'anything';

export interface CheckedExpression {
  readonly path: string;
  readonly source: Source;
  readonly ast: Expr;
  readonly wanted: Wanted;
  /** The variable name under which later expressions read it. */
  readonly variable?: string;
}

/** Expressions that do not parse are omitted; compiling the policy reports them. One step parses one expression. */
export function* expressionsOf(model: PolicyModel): Steps<readonly CheckedExpression[]> {
  const found: CheckedExpression[] = [];
  for (const { expression, ...about } of writtenIn(model)) {
    const { source, ast } = parseOnce(expression.text);
    if (ast !== undefined) found.push({ path: expression.path, source, ast, ...about });
    yield;
  }
  return found;
}

interface Written {
  readonly expression: ExpressionModel;
  readonly wanted: Wanted;
  readonly variable?: string;
}

function* writtenIn(model: PolicyModel): Iterable<Written> {
  for (const variable of model.variables) yield { expression: variable, wanted: 'anything', variable: variable.name };
  for (const condition of model.matchConditions) yield { expression: condition, wanted: 'bool' };
  for (const { expression, messageExpression, auditAnnotations } of model.rules) {
    yield { expression, wanted: 'bool' };
    if (messageExpression !== undefined) yield { expression: messageExpression, wanted: 'string' };
    for (const { value } of auditAnnotations) yield { expression: value, wanted: 'string or null' };
  }
  for (const { expression } of model.mutations) yield { expression, wanted: 'anything' };
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
