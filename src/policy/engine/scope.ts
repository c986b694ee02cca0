/**
 * The state that the expressions of one request share: variables, results so far and their cost. A scope belongs to one
 * view of the request (as it was sent, or as the Pod of a template) and, for expressions that read them, to one params
 * object.
 */
import {
  type AuthorizationAttributes,
  CelError,
  HostObject,
  type NonValue,
  type Result,
  TypeValue,
  trust,
  type Value,
} from '../../cel/index.ts';
import type { Missing } from '../match/match.ts';
import type { Subject } from '../match/subject.ts';
import type { ContextModel } from '../model.ts';
import type { Json } from '../request.ts';
import type { ObjectQuery } from '../world.ts';
import { SHORTHANDS } from './environment.ts';
import type { EvaluationClock } from './evaluation-clock.ts';
import { authorizerFor, namespaceValue, requestResource, requestValue, shorthand } from './inputs.ts';
import type { SharedRuleBatch } from './shared-rules.ts';
import type { SplitRule } from './shared-terms.ts';
import type { Unit } from './unit.ts';

/** The state that one decision shares among its scopes. */
export interface Evaluation {
  readonly questions: Map<string, AuthorizationAttributes>;
  readonly clock: EvaluationClock;
}

/**
 * The last scope number of the process. A unit caches its result together with the number of the scope, so numbers must
 * be unique; no result depends on their value.
 */
let epochs = 0;

export class Scope {
  readonly subject: Subject;
  readonly clock: EvaluationClock;
  readonly #evaluation: Evaluation;
  readonly #inputs: Record<string, Result>;
  readonly #epoch: number;
  readonly #variables = new Map<Unit, { readonly result: Result; readonly cost: number }>();
  readonly #context = new Map<string, readonly Json[] | undefined>();
  #paramsEpoch: number;
  #used: Unit[] | undefined;
  #filled = false;

  constructor(subject: Subject, evaluation: Evaluation) {
    this.subject = subject;
    this.#evaluation = evaluation;
    this.clock = evaluation.clock;
    this.#epoch = ++epochs;
    this.#paramsEpoch = this.#epoch;
    const object = subject.object as Value;
    const oldObject = subject.oldObject as Value;
    const shown = subject.object ?? subject.oldObject;
    const inputs: Record<string, Result> = { object, oldObject };
    for (const name of SHORTHANDS) inputs[name] = shorthand(shown, name);
    this.#inputs = trust(inputs) as Record<string, Result>;
  }

  /** `missing` returns information that `unit` needs and that is not available. */
  missing(unit: Unit): Missing | undefined {
    const { unknown } = this.subject;
    if (unknown.length > 0) {
      const part = unit.parts.find((each) => unknown.includes(each));
      if (part !== undefined) return { what: 'request', detail: PARTS[part] };
    }
    if (unit.readsNamespace && this.subject.namespaceObject === undefined) {
      return { what: 'namespace', detail: `namespace ${this.subject.namespace}` };
    }
    return this.#missingContext(unit);
  }

  /** `evaluate` returns the result of a rule. A rule that several policies share is evaluated once per request. */
  evaluate(unit: Unit): Result {
    const epoch = unit.readsParams ? this.#paramsEpoch : this.#epoch;
    if (unit.epoch === epoch) return unit.result;
    unit.epoch = epoch;
    if (!unit.plain || unit.variables !== undefined || !(this.#filled || unit.readsObjectAlone))
      return this.#evaluateInFull(unit);
    const { budget } = this.clock;
    this.clock.startExpression();
    budget.spent = 0;
    const result = unit.evaluate(this.#inputs, budget);
    unit.result = result;
    unit.cost = budget.spent;
    return result;
  }

  /**
   * `firstNotTrue` returns the first entry of a batch in [`from`, `to`) that is not true and must be evaluated alone,
   * or `to`.
   */
  firstNotTrue({ batch, readsObjectAlone }: SharedRuleBatch, from: number, to: number): number {
    if (!readsObjectAlone) this.#fill();
    return batch.run(this.#inputs, from, to);
  }

  /** Like `evaluate`, from the terms that the rule shares with other rules. */
  evaluateTerms(unit: Unit, { terms, decisive }: SplitRule): Result {
    if (unit.epoch === this.#epoch) return unit.result;
    let cost = 0;
    let answer = !decisive;
    for (const term of terms) {
      const result = this.evaluate(term);
      cost += term.cost;
      // Errors and exceeded budgets are reported by the whole expression.
      if (typeof result !== 'boolean' || cost > unit.needs.costLimit) return this.evaluate(unit);
      if (result === decisive) {
        answer = decisive;
        break;
      }
    }
    unit.epoch = this.#epoch;
    unit.result = answer;
    unit.cost = cost;
    return answer;
  }

  #evaluateInFull(unit: Unit): Result {
    const { result, cost, used } = this.#evaluate(unit);
    unit.result = result;
    unit.cost = cost;
    unit.used = used;
    return result;
  }

  /** Like `evaluate`, without caching, because the result may contain parts of the object. */
  compute(unit: Unit): { readonly result: Result; readonly cost: number; readonly used: readonly Unit[] } {
    return this.#evaluate(unit);
  }

  /** `inputsOf` returns the values of the variables, for an explanation. */
  inputsOf(unit: Unit): Readonly<Record<string, Result>> {
    this.#fill();
    this.#declareContext(unit);
    this.#inputs.variables = unit.variables === undefined ? (undefined as never) : new Variables(unit.variables, this);
    return this.#inputs;
  }

  get params(): Json | null {
    return (this.#inputs.params ?? null) as Json | null;
  }

  /** `useParams` sets the params object for the following evaluations. */
  useParams(params: Json | null): void {
    this.#inputs.params = params as Value;
    this.#paramsEpoch = ++epochs;
    for (const unit of this.#variables.keys()) if (unit.readsParams) this.#variables.delete(unit);
  }

  variable(unit: Unit): Result {
    this.#used?.push(unit);
    let known = this.#variables.get(unit);
    if (known === undefined) {
      const { result, cost, used } = this.#evaluate(unit);
      known = { result, cost };
      unit.cost = cost;
      unit.used = used;
      this.#variables.set(unit, known);
    }
    return known.result;
  }

  costOf(unit: Unit): number {
    return this.#variables.get(unit)?.cost ?? unit.cost;
  }

  #evaluate(unit: Unit): { result: Result; cost: number; used: readonly Unit[] } {
    if (!this.#filled) this.#fill();
    if (unit.context.length > 0) this.#declareContext(unit);
    this.clock.startExpression();
    if (unit.variables === undefined) {
      const { budget } = this.clock;
      budget.spent = 0;
      const result = unit.evaluate(this.#inputs, budget);
      return { result, cost: budget.spent, used: NONE };
    }
    const outer = { variables: this.#inputs.variables, used: this.#used };
    const used: Unit[] = [];
    // Variables are evaluated meanwhile and are charged separately.
    const budget = this.clock.newBudget();
    this.#used = used;
    this.#inputs.variables = new Variables(unit.variables, this);
    const result = unit.evaluate(this.#inputs, budget);
    this.#inputs.variables = outer.variables as Result;
    this.#used = outer.used;
    return { result, cost: budget.spent, used };
  }

  #fill(): void {
    if (this.#filled) return;
    this.#filled = true;
    const { subject } = this;
    const inputs = this.#inputs;
    inputs.request = requestValue(subject);
    inputs.namespaceObject = namespaceValue(subject.namespaceObject ?? null);
    const authorizer = authorizerFor(subject.world, this.#evaluation.questions);
    inputs.authorizer = authorizer as unknown as Value;
    inputs['authorizer.requestResource'] = requestResource(authorizer, subject) as unknown as Value;
    inputs.params ??= null;
  }

  #missingContext(unit: Unit): Missing | undefined {
    for (const each of unit.context) {
      if (this.#find(each) === undefined)
        return { what: 'objects', detail: `objects of ${each.apiVersion} ${each.kind}` };
    }
    for (const each of unit.variables?.values() ?? []) {
      const missing = this.#missingContext(each);
      if (missing !== undefined) return missing;
    }
    return undefined;
  }

  #declareContext(unit: Unit): void {
    for (const each of unit.context) {
      const found = this.#find(each) ?? [];
      this.#inputs[each.name] = (each.resourceName === undefined ? found : (found[0] ?? null)) as Value;
    }
  }

  #find(context: ContextModel): readonly Json[] | undefined {
    const query: ObjectQuery = {
      apiVersion: context.apiVersion,
      kind: context.kind,
      ...(context.namespace === undefined ? {} : { namespace: context.namespace }),
      ...(context.resourceName === undefined ? {} : { name: context.resourceName }),
      ...(context.selector === undefined ? {} : { selector: context.selector }),
    };
    const key = JSON.stringify(query);
    if (!this.#context.has(key)) this.#context.set(key, this.subject.world.find(query));
    return this.#context.get(key);
  }
}

const PARTS = {
  operation: 'the operation',
  oldObject: 'the old object',
  userInfo: 'user info',
  authorizer: 'authorization checks',
} as const;

const NONE: readonly Unit[] = [];

const VARIABLES = new TypeValue('kubernetes.variables');

/**
 * The `variables` object. Each variable is evaluated when it is first read, once for all policies with the same
 * definition.
 */
class Variables extends HostObject {
  override readonly type = VARIABLES;
  readonly #units: ReadonlyMap<string, Unit>;
  readonly #scope: Scope;

  constructor(units: ReadonlyMap<string, Unit>, scope: Scope) {
    super();
    this.#units = units;
    this.#scope = scope;
  }

  override field(name: string): Result | undefined {
    const unit = this.#units.get(name);
    if (unit === undefined) return undefined;
    const value = this.#scope.variable(unit);
    if (!(value instanceof CelError)) return value;
    const error = new CelError(value.code, `composited variable "${name}" fails to evaluate: ${value.message}`);
    error.cause = value;
    return error;
  }

  override has(name: string): boolean | NonValue {
    const value = this.field(name);
    return value instanceof CelError ? value : value !== undefined;
  }

  override toString(): string {
    return 'variables';
  }
}
