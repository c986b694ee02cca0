/**
 * Applies the mutations of policies to one request, in the order of the set. As with MutatingAdmissionPolicies, each
 * mutation sees the result of the previous ones, and the matching policies are selected before the first mutation.
 *
 * Only the API server knows whether a call is a reinvocation; an AdmissionReview does not say so. Policies with
 * `reinvocationPolicy: Never` and `IfNeeded` are therefore served by two webhooks, and each selects its own policies
 * with `reinvocation`.
 */
import type { AuthorizationAttributes, Result } from '../../cel/index.ts';
import { NonValue, type Value } from '../../cel/index.ts';
import type { MutationDecision, RuleResult } from '../decision.ts';
import type { CompiledMutation, CompiledPolicy, CompiledRule } from '../engine/compile.ts';
import { conditionsAnswer } from '../engine/conditions.ts';
import { EvaluationClock } from '../engine/evaluation-clock.ts';
import { exemption } from '../engine/exceptions.ts';
import { findParams } from '../engine/params.ts';
import { type Evaluation, Scope } from '../engine/scope.ts';
import type { PolicySet } from '../engine/set.ts';
import type { Unit } from '../engine/unit.ts';
import { viewsOf } from '../engine/views.ts';
import { failureText } from '../engine/violation.ts';
import type { MatchAnswer, Missing } from '../match/match.ts';
import type { Subject } from '../match/subject.ts';
import type { AdmissionRequest, Json } from '../request.ts';
import { HIDDEN, Sensitive } from '../why/index.ts';
import type { World } from '../world.ts';
import { isJsonObject, sameJson } from './json.ts';
import { applyJsonPatch } from './json-patch.ts';
import { mergeConfiguration } from './merge.ts';
import { mergeTypeFor } from './merge-type-of-kind.ts';
import { configurationOf, operationsOf } from './values.ts';

export interface MutateOptions {
  /** Selects the policies with this reinvocationPolicy; all by default. */
  readonly reinvocation?: 'Never' | 'IfNeeded';
  /** In milliseconds since 1970. Mutations that were not evaluated by then are errors. */
  readonly deadline?: number;
  /**
   * Whether the patch goes to a caller that must not see anything but its own request. Policies whose mutations or match
   * conditions read params, context, the namespace or `authorizer` are errors.
   */
  readonly requestOnly?: boolean;
}

/**
 * `mutate` applies the mutations of all matching policies to the object of a request and returns the new object.
 *
 *     const { object, changed } = mutate(set, request, emptyWorld(Date.now()));
 *     if (changed) console.log(jsonPatchBetween(request.object ?? {}, object));
 */
export function mutate(
  set: PolicySet,
  request: AdmissionRequest,
  world: World,
  options: MutateOptions = {},
): MutationDecision {
  const { object } = request;
  // A deleted object cannot be mutated.
  if (object === undefined || object === null || request.operation === 'DELETE') {
    return { object: object ?? {}, changed: false, policies: [], results: [], questions: [] };
  }
  const run = new Run(set, world, object, options);
  for (const { policy, answer, subject } of policiesAbout(set, request, world, run.evaluation)) {
    if (options.reinvocation === undefined || policy.model.reinvocationPolicy === options.reinvocation) {
      run.policy(policy, answer, subject);
    }
  }
  return run.decision(object);
}

interface About {
  readonly policy: CompiledPolicy;
  readonly answer: Exclude<MatchAnswer, false>;
  readonly subject: Subject;
}

/**
 * Selects the policies that match the request. Mutations for Pods apply to Pods only, not to the templates of workload
 * controllers.
 */
function policiesAbout(
  set: PolicySet,
  request: AdmissionRequest,
  world: World,
  evaluation: Evaluation,
): readonly About[] {
  const found: { position: number; about: About }[] = [];
  for (const { index, scope } of viewsOf(set, request, world, evaluation)) {
    if (index.path !== undefined) continue;
    const { subject } = scope;
    for (const group of index.candidates(subject)) {
      if (group.policies.every(({ mutations }) => mutations.length === 0)) continue;
      const answer = group.answer(subject);
      if (answer === false) continue;
      group.policies.forEach((policy, index) => {
        if (policy.mutations.length === 0) return;
        found.push({ position: group.positions[index] ?? 0, about: { policy, answer, subject } });
      });
    }
  }
  return found.sort((left, right) => left.position - right.position).map(({ about }) => about);
}

class Run {
  readonly evaluation: Evaluation;
  readonly #set: PolicySet;
  readonly #world: World;
  readonly #policies = new Set<string>();
  readonly #results: RuleResult[] = [];
  readonly #requestOnly: boolean;
  #object: Json;

  constructor(set: PolicySet, world: World, object: Json, { deadline, requestOnly = false }: MutateOptions) {
    this.#requestOnly = requestOnly;
    this.#set = set;
    this.#world = world;
    this.#object = object;
    this.evaluation = { questions: new Map<string, AuthorizationAttributes>(), clock: new EvaluationClock(deadline) };
  }

  decision(before: Json): MutationDecision {
    const changed = this.#object !== before && !sameJson(this.#object, before);
    return {
      object: changed ? this.#object : before,
      changed,
      policies: changed ? [...this.#policies] : [],
      results: this.#results,
      questions: [...this.evaluation.questions.values()],
    };
  }

  policy(policy: CompiledPolicy, answer: true | Missing, sent: Subject): void {
    const scope = this.#scope(sent);
    if (answer !== true) this.#notEvaluated(policy, scope, answer);
    else if (this.#requestOnly && readsCluster(policy)) this.#failed(policy, policy.mutations, NOT_SHOWN);
    else if (policy.model.params === undefined) this.#invoke(policy, sent, null);
    else {
      const found = findParams(policy, scope);
      if ('what' in found) this.#notEvaluated(policy, scope, found);
      else if ('objects' in found) for (const params of found.objects) this.#invoke(policy, sent, params);
      else if (found.none === 'Deny') this.#failed(policy, policy.mutations, `no params found: ${found.description}`);
    }
  }

  /** Runs one policy with one params object. */
  #invoke(policy: CompiledPolicy, sent: Subject, params: Json | null): void {
    const scope = this.#scope(sent);
    scope.useParams(params);
    const sensitive = new Sensitive(policy.model, sent);
    const words = (unit: Unit, result: Result): string => failureText(unit, result, sensitive);
    const { answer, message } = conditionsAnswer(policy.conditions, scope, undefined, words);
    if (answer === 'error') {
      if (policy.model.failurePolicy === 'Fail') this.#failed(policy, policy.mutations, message);
    } else if (answer === true) {
      for (const mutation of policy.mutations) this.#mutation(policy, mutation, sent, params);
    } else if (answer !== false) this.#notEvaluated(policy, scope, answer);
  }

  #mutation(policy: CompiledPolicy, mutation: CompiledMutation, sent: Subject, params: Json | null): void {
    const scope = this.#scope(sent);
    scope.useParams(params);
    const exempt = exemption(this.#set, policy, asRule(mutation), scope, scope);
    if (exempt !== undefined && !('what' in exempt)) {
      const skipped = `exempt by PolicyException ${exempt.exception}`;
      this.#add(policy, mutation, { result: 'skip', message: skipped, skipped, exception: exempt.exception });
      return;
    }
    const missing = scope.missing(mutation.unit);
    if (missing !== undefined) {
      this.#notEvaluated(policy, scope, missing, [mutation]);
      return;
    }
    if (this.evaluation.clock.isLate()) {
      this.#failed(policy, [mutation], 'the deadline passed before this mutation was evaluated');
      return;
    }
    const { result } = scope.compute(mutation.unit);
    const sensitive = new Sensitive(policy.model, sent);
    const made =
      result instanceof NonValue
        ? { error: failureText(mutation.unit, result, sensitive) }
        : hideIn(this.#apply(mutation, result, scope), sensitive.hidesUnit(mutation.unit));
    if (made.error !== undefined) this.#failed(policy, [mutation], made.error);
    else if (made.object !== this.#object) {
      this.#object = made.object;
      this.#policies.add(policy.model.name);
    }
  }

  #apply({ model }: CompiledMutation, value: Value, { subject }: Scope): Made {
    if (model.patchType === 'ApplyConfiguration') {
      const made = configurationOf(value);
      if (made.error !== undefined) return made;
      const type = mergeTypeFor(subject.request.kind, this.#world);
      const merged = mergeConfiguration(this.#object, made.value, type);
      return merged.error === undefined ? merged : { error: `error applying patch: ${merged.error}` };
    }
    const made = operationsOf(value);
    if (made.error !== undefined) return made;
    const patched = applyJsonPatch(this.#object, made.value);
    // A failed `test` operation means that the patch does not apply to this object.
    if (patched.error !== undefined) {
      return patched.testFailed ? { object: this.#object } : { error: `JSON Patch: ${patched.error}` };
    }
    const { document } = patched;
    if (!isJsonObject(document)) return { error: 'JSON Patch: the result is not an object' };
    return { object: sameJson(document, this.#object) ? this.#object : document };
  }

  #scope(sent: Subject): Scope {
    return new Scope(sent.withObjects(this.#object, sent.oldObject), this.evaluation);
  }

  /**
   * Like for rules, a mutation that needs an absent part of the request is skipped, and a failed lookup is a failure.
   */
  #notEvaluated(
    policy: CompiledPolicy,
    { subject }: Scope,
    { what, detail }: Missing,
    mutations: readonly CompiledMutation[] = policy.mutations,
  ): void {
    if (what !== 'request' && subject.unknown.length === 0) {
      this.#failed(policy, mutations, `${detail} could not be looked up`);
      return;
    }
    const skipped = what === 'request' ? `needs a request: ${detail}` : `needs ${detail}`;
    for (const mutation of mutations) this.#add(policy, mutation, { result: 'skip', message: skipped, skipped });
  }

  #failed(policy: CompiledPolicy, mutations: readonly CompiledMutation[], message: string): void {
    const denies = policy.model.failurePolicy === 'Fail';
    for (const mutation of mutations) this.#add(policy, mutation, { result: 'error', message, denies });
  }

  #add(
    { model }: CompiledPolicy,
    mutation: CompiledMutation,
    parts: Pick<RuleResult, 'result' | 'message'> & Partial<RuleResult>,
  ): void {
    this.#results.push({
      policyKind: model.kind,
      policy: model.name,
      ...(model.binding === undefined ? {} : { binding: model.binding }),
      rule: mutation.model.name,
      denies: false,
      audited: false,
      severity: 'medium',
      ...parts,
    });
  }
}

const NOT_SHOWN = 'the mutation reads more than the request, which its caller must not see';

const readsCluster = ({ model, conditions, mutations }: CompiledPolicy): boolean =>
  model.params !== undefined || [...conditions, ...mutations].some(({ unit }) => unit.readsCluster);

/** Presents a mutation as a rule, so that exceptions apply to mutations too. */
const asRule = ({ model, unit }: CompiledMutation): CompiledRule => ({
  model: {
    name: model.name,
    expression: model.expression,
    severity: 'medium',
    actions: ['Deny'],
    ratchet: false,
    exceptions: 'Allowed',
    auditAnnotations: [],
  },
  unit,
  message: undefined,
  annotations: [],
});

type Made = { readonly object: Json; readonly error?: undefined } | { readonly error: string };

/** Patch errors may quote paths and values, so they are hidden for sensitive expressions. */
const hideIn = (made: Made, hides: boolean): Made =>
  made.error !== undefined && hides ? { error: `the patch cannot be applied: ${HIDDEN}` } : made;
