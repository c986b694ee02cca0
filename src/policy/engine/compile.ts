/** Compiles a policy model: every expression is parsed, checked and compiled, or reported with its position. */
import { type Issue, type Type, types } from '../../cel/index.ts';
import { CompiledMatch } from '../match/match.ts';
import type { ExceptionModel, ExpressionModel, MutationModel, PolicyIssue, PolicyModel, RuleModel } from '../model.ts';
import type { RequestPart } from '../request.ts';
import { completed, type Steps } from '../steps.ts';
import { composedType } from './environment.ts';
import { type Unit, type UnitNeeds, unitFor } from './unit.ts';

export const EXPRESSION_COST_LIMIT = 1_000_000;
const POLICY_COST_LIMIT = 10_000_000;

export interface PolicyCompileOptions {
  /** The cost limit of one evaluation, in Kubernetes cost units. */
  readonly costLimit?: number;
  /** The cost limit of all evaluations of a policy for one request. */
  readonly policyCostLimit?: number;
  readonly backend?: 'auto' | 'code' | 'closures';
  /**
   * Called for each expression. The returned function receives the value of every sub-expression. For coverage;
   * evaluation becomes slow.
   */
  readonly watch?: (expression: ExpressionModel) => NonNullable<UnitNeeds['watch']>;
}

export interface CompiledRule {
  readonly model: RuleModel;
  readonly unit: Unit;
  readonly message: Unit | undefined;
  readonly annotations: readonly { readonly key: string; readonly unit: Unit }[];
}

export interface CompiledMutation {
  readonly model: MutationModel;
  readonly unit: Unit;
}

export interface CompiledCondition {
  readonly name: string;
  readonly unit: Unit;
}

export interface CompiledPolicy {
  readonly model: PolicyModel;
  readonly match: CompiledMatch;
  readonly exclude: CompiledMatch | undefined;
  readonly alsoMatch: CompiledMatch | undefined;
  readonly conditions: readonly CompiledCondition[];
  readonly variables: ReadonlyMap<string, Unit>;
  readonly rules: readonly CompiledRule[];
  readonly mutations: readonly CompiledMutation[];
  readonly costLimit: number;
  /** The parts of a request that any of its rules reads. */
  readonly parts: readonly RequestPart[];
}

export interface CompiledException {
  readonly model: ExceptionModel;
  readonly match: CompiledMatch | undefined;
  readonly conditions: readonly CompiledCondition[];
}

/**
 * `compilePolicy` compiles the model of a policy, or returns its issues with field, line and column.
 *
 *     const { policy, issues } = compilePolicy(model);
 *     if (policy === undefined) throw new Error(issues.map(issueText).join('\n'));
 */
export function compilePolicy(model: PolicyModel, options: PolicyCompileOptions = {}): PolicyOrIssues {
  return completed(compileSteps(model, options));
}

interface PolicyOrIssues {
  policy?: CompiledPolicy;
  issues: PolicyIssue[];
}

/** `compileSteps` is `compilePolicy` with one step for each expression. */
export function* compileSteps(model: PolicyModel, options: PolicyCompileOptions = {}): Steps<PolicyOrIssues> {
  const needs: UnitNeeds = {
    native: model.kind !== 'Policy',
    params: model.params !== undefined,
    authorizer: true,
    context: model.context,
    backend: options.backend ?? 'auto',
    costLimit: options.costLimit ?? EXPRESSION_COST_LIMIT,
  };
  const compiler = new Compiler(model.name, needs, options.watch);
  const conditions = yield* compiler.conditions(model.matchConditions);
  for (const variable of model.variables) yield compiler.variable(variable.name, variable);
  const rules: CompiledRule[] = [];
  for (const each of model.rules) {
    const rule = yield* compiler.rule(each);
    if (rule !== undefined) rules.push(rule);
  }
  const mutations: CompiledMutation[] = [];
  for (const each of model.mutations) {
    const mutation = compiler.mutation(each);
    if (mutation !== undefined) mutations.push(mutation);
    yield;
  }
  const { issues } = compiler;
  if (issues.some(({ severity }) => severity === 'error')) return { issues };
  const policy: CompiledPolicy = {
    model,
    match: new CompiledMatch(model.match),
    exclude: model.exclude === undefined ? undefined : new CompiledMatch(model.exclude, 'exclude'),
    alsoMatch: model.alsoMatch === undefined ? undefined : new CompiledMatch(model.alsoMatch),
    conditions,
    variables: compiler.units,
    rules,
    mutations,
    costLimit: options.policyCostLimit ?? POLICY_COST_LIMIT,
    parts: [...new Set(rules.flatMap(({ unit }) => unit.parts))],
  };
  return { policy, issues };
}

export function compileException(model: ExceptionModel, options: PolicyCompileOptions = {}): ExceptionOrIssues {
  return completed(compileExceptionSteps(model, options));
}

interface ExceptionOrIssues {
  exception?: CompiledException;
  issues: PolicyIssue[];
}

/** `compileExceptionSteps` is `compileException` with one step for each expression. */
export function* compileExceptionSteps(
  model: ExceptionModel,
  options: PolicyCompileOptions = {},
): Steps<ExceptionOrIssues> {
  const compiler = new Compiler(model.name, {
    native: false,
    params: false,
    authorizer: true,
    context: [],
    backend: options.backend ?? 'auto',
    costLimit: options.costLimit ?? EXPRESSION_COST_LIMIT,
  });
  const conditions = yield* compiler.conditions(model.matchConditions);
  const { issues } = compiler;
  if (issues.length > 0) return { issues };
  const match = model.match === undefined ? undefined : new CompiledMatch(model.match, 'exclude');
  return { exception: { model, match, conditions }, issues };
}

class Compiler {
  readonly issues: PolicyIssue[] = [];
  readonly #policy: string;
  readonly #needs: UnitNeeds;
  readonly #watch: PolicyCompileOptions['watch'];
  readonly #variables = new Map<string, { readonly unit: Unit; readonly type: Type }>();

  constructor(policy: string, needs: UnitNeeds, watch?: PolicyCompileOptions['watch']) {
    this.#policy = policy;
    this.#needs = needs;
    this.#watch = watch;
  }

  get units(): ReadonlyMap<string, Unit> {
    return new Map([...this.#variables].map(([name, { unit }]) => [name, unit]));
  }

  *conditions(models: readonly (ExpressionModel & { readonly name: string })[]): Steps<readonly CompiledCondition[]> {
    const made: CompiledCondition[] = [];
    for (const each of models) {
      const unit = this.#unit(each, ['bool'], this.#needs);
      if (unit !== undefined) made.push({ name: each.name, unit });
      yield;
    }
    return made;
  }

  /** A variable can read the variables before it. */
  variable(name: string, model: ExpressionModel): undefined {
    const unit = this.#unit(model, undefined, this.#withVariables());
    if (unit !== undefined) this.#variables.set(name, { unit, type: composedType(unit.compiled.type) });
    // A broken variable is reported once, not at every use.
    else this.#broken.add(name);
  }

  readonly #broken = new Set<string>();

  *rule(model: RuleModel): Steps<CompiledRule | undefined> {
    const needs = this.#withVariables();
    const unit = this.#unit(model.expression, ['bool'], needs);
    yield;
    // As in Kubernetes, message expressions cannot use the authorizer.
    const message =
      model.messageExpression === undefined
        ? undefined
        : this.#unit(model.messageExpression, ['string'], { ...needs, authorizer: false });
    yield;
    const annotations: { key: string; unit: Unit }[] = [];
    for (const { key, value } of model.auditAnnotations) {
      const made = this.#unit(value, ['string', 'null'], needs);
      if (made !== undefined) annotations.push({ key, unit: made });
      yield;
    }
    if (unit === undefined) return undefined;
    if (model.ratchet && unit.parts.includes('oldObject')) {
      this.#complain(
        'ratchet_reads_old_object',
        model.expression.path,
        'a rule with `ratchet: true` is also evaluated on the old object, so it must not read oldObject: remove one of the two',
      );
    }
    return { model, unit, message, annotations };
  }

  mutation(model: MutationModel): CompiledMutation | undefined {
    const unit = this.#unit(model.expression, undefined, this.#withVariables());
    return unit === undefined ? undefined : { model, unit };
  }

  #withVariables(): UnitNeeds {
    return { ...this.#needs, variables: this.#variables };
  }

  #unit(model: ExpressionModel, wanted: readonly Type['kind'][] | undefined, needs: UnitNeeds): Unit | undefined {
    const watch = this.#watch?.(model);
    const made = unitFor(model.text, watch === undefined ? needs : { ...needs, watch });
    if (made.issues !== undefined) {
      if (!this.#isAboutBroken(made.issues)) this.#report(model, made.issues, made.message);
      return undefined;
    }
    const { type } = made.unit.compiled;
    // Kubernetes requires a static type. A Policy may have type dyn, such as `spec.enabled` without a schema.
    const open = type.kind === 'dyn' && !needs.native;
    if (wanted !== undefined && !open && !wanted.includes(type.kind)) {
      const message = `must evaluate to ${wanted.join(' or ')}, got ${types.typeName(type)}`;
      this.#complain('wrong_result_type', model.path, message);
      return undefined;
    }
    return made.unit;
  }

  #isAboutBroken(issues: readonly Issue[]): boolean {
    const names = [...this.#broken];
    return names.length > 0 && issues.every(({ message }) => names.some((name) => message.includes(`'${name}'`)));
  }

  #report({ path }: ExpressionModel, issues: readonly Issue[], picture: string): void {
    const [first] = issues;
    this.issues.push({
      severity: 'error',
      code: first?.code ?? 'syntax',
      policy: this.#policy,
      path,
      ...(first === undefined ? {} : { line: first.line, column: first.column }),
      message: `${path}: ${picture}`,
    });
  }

  #complain(code: string, path: string, message: string): void {
    this.issues.push({
      severity: 'error',
      code,
      policy: this.#policy,
      path,
      line: 1,
      column: 1,
      message: `${path}: ${message}`,
    });
  }
}
