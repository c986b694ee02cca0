/** Evaluates the rules of the policies that match one view of a request. */
import type { Result } from '../../cel/index.ts';
import type { RuleResult } from '../decision.ts';
import type { Missing } from '../match/match.ts';
import { annotate } from './annotations.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import { conditionsAnswer } from './conditions.ts';
import { exemption } from './exceptions.ts';
import type { MatchGroup } from './match-index.ts';
import type { Outcome } from './outcome.ts';
import { findParams, type Params } from './params.ts';
import { failed, makeResult, notEvaluated } from './results.ts';
import type { Evaluation } from './scope.ts';
import type { PolicySet } from './set.ts';
import type { SharedRule, SharedRuleBatch, SharedRules } from './shared-rules.ts';
import type { Unit } from './unit.ts';
import type { View } from './views.ts';
import { failure, failureText, sensitiveIn, violation } from './violation.ts';

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';
const OUT_OF_TIME = 'the deadline passed before this rule was evaluated';

/** The maximum number of violations per request that are explained. */
const MAX_EXPLAINED = 100;
/** The number of rules that are evaluated between two checks of the deadline. */
const RULES_BETWEEN_LOOKS = 32;
/** A rule that cost more than this is followed by a check. */
const COST_OF_A_LOOK = 10_000;

/**
 * The last evaluation number of the process: a shared variable is charged once per policy and number. No result depends
 * on its value.
 */
let evaluations = 0;

export class RuleEvaluator {
  readonly #set: PolicySet;
  readonly #view: View;
  readonly #evaluation: Evaluation;
  readonly #outcome: Outcome;
  #sinceLook = 0;
  #late = false;

  constructor(set: PolicySet, view: View, evaluation: Evaluation, outcome: Outcome) {
    this.#set = set;
    this.#view = view;
    this.#evaluation = evaluation;
    this.#outcome = outcome;
  }

  group(group: MatchGroup): void {
    const answer = group.answer(this.#view.scope.subject);
    if (answer === false) return;
    if (answer === true && !this.#outcome.passes) {
      const { sharedRules } = group;
      this.#outcome.matchedGroup(sharedRules);
      this.#sharedRules(sharedRules);
      for (const { policy, position } of sharedRules.others) this.#policy(policy, position);
      return;
    }
    for (const [index, policy] of group.policies.entries()) {
      const position = group.positions[index] as number;
      if (policy.rules.length === 0) continue;
      if (answer === true) this.#policy(policy, position);
      else this.#notEvaluated(policy, position, answer);
    }
  }

  /** Evaluates the shared rules. If every rule passes, these loops are the whole evaluation. */
  #sharedRules({ batches, entries }: SharedRules): void {
    let cost = 0;
    for (const each of batches) cost += this.#batch(each);
    for (let index = 0; index < entries.length; index++)
      cost += this.#entry(entries[index] as SharedRule, this.#isLate());
    this.#outcome.cost += cost;
  }

  #batch(one: SharedRuleBatch): number {
    const { scope } = this.#view;
    const { batch, entries } = one;
    let cost = 0;
    for (let index = 0; index < entries.length; ) {
      this.#late ||= this.#evaluation.clock.isLate();
      const end = this.#late ? index : Math.min(index + RULES_BETWEEN_LOOKS, entries.length);
      const first = scope.firstNotTrue(one, index, end);
      cost += batch.cost;
      if (first === end && !this.#late) index = end;
      else {
        cost += this.#entry(entries[first] as SharedRule, this.#late);
        index = first + 1;
      }
    }
    return cost;
  }

  /** Evaluates one expression for all its owners and returns the cost. */
  #entry({ unit, owners, split }: SharedRule, late: boolean): number {
    if (late) {
      for (const { policy, rule, position } of owners) this.#failed(policy, rule, position, OUT_OF_TIME);
      return 0;
    }
    const { scope } = this.#view;
    const result = split === undefined ? scope.evaluate(unit) : scope.evaluateTerms(unit, split);
    this.#lookAfter(unit);
    if (result !== true) for (const { policy, rule, position } of owners) this.#result(policy, rule, position, result);
    return unit.cost * owners.length;
  }

  #isLate(): boolean {
    if (this.#late) return true;
    if (++this.#sinceLook < RULES_BETWEEN_LOOKS) return false;
    this.#sinceLook = 0;
    this.#late = this.#evaluation.clock.isLate();
    return this.#late;
  }

  /** Checks the deadline before the next rule if this one may have taken long: some functions cost little and take long. */
  #lookAfter(unit: Unit): void {
    if (unit.cost > COST_OF_A_LOOK || this.#outcome.passes) this.#sinceLook = RULES_BETWEEN_LOOKS;
  }

  #policy(policy: CompiledPolicy, position: number): void {
    const { scope } = this.#view;
    const { kind, params } = policy.model;
    const found = params === undefined ? undefined : findParams(policy, scope);
    if (found === undefined) this.#conditional(policy, position);
    else if ('objects' in found) {
      // Match conditions may read params too.
      for (const each of found.objects) {
        scope.useParams(each);
        this.#conditional(policy, position);
      }
    } else if ('none' in found && found.none === 'Deny' && kind !== 'Policy') {
      // Kubernetes looks up params before it evaluates match conditions.
      this.#all(policy, position, (rule) => failed(policy, rule, scope, `no params found: ${found.description}`));
    } else if (this.#isUnconditional(policy)) this.#withoutParams(policy, position, found);
  }

  #conditional(policy: CompiledPolicy, position: number): void {
    const { scope } = this.#view;
    const stamp = ++evaluations;
    if (policy.conditions.length > 0) {
      const { answer, message } = conditionsAnswer(
        policy.conditions,
        scope,
        (unit) => this.#charge(unit, stamp),
        (unit, result) => failureText(unit, result, sensitiveIn(policy, this.#view)),
      );
      if (answer === false) return;
      if (answer === 'error') {
        // With failurePolicy Ignore, Kubernetes treats a failed condition as not met.
        if (policy.model.failurePolicy === 'Fail')
          this.#all(policy, position, (rule) => failed(policy, rule, scope, message));
        return;
      }
      if (answer !== true) {
        this.#notEvaluated(policy, position, answer);
        return;
      }
    }
    this.#outcome.matched(position);
    this.#rules(policy, position, stamp);
  }

  /** Whether no match condition that does not read params excludes the policy. */
  #isUnconditional({ conditions }: CompiledPolicy): boolean {
    const others = conditions.filter(({ unit }) => !unit.readsParams);
    return conditionsAnswer(others, this.#view.scope).answer !== false;
  }

  #withoutParams(policy: CompiledPolicy, position: number, found: Exclude<Params, { objects: unknown }>): void {
    const { scope } = this.#view;
    if ('what' in found) this.#all(policy, position, (rule) => notEvaluated(policy, rule, scope, found));
    else if (found.none === 'Deny') {
      this.#all(policy, position, (rule) => failed(policy, rule, scope, `no params found: ${found.description}`));
    } else {
      const skipped = `no params found: ${found.description}`;
      this.#all(policy, position, (rule) => makeResult(policy, rule, { result: 'skip', message: skipped, skipped }));
    }
  }

  #rules(policy: CompiledPolicy, position: number, stamp: number): void {
    const { scope } = this.#view;
    const { rules, costLimit } = policy;
    let cost = 0;
    for (const [index, rule] of rules.entries()) {
      const { unit } = rule;
      if (this.#isLate()) {
        this.#failed(policy, rule, position, OUT_OF_TIME);
        continue;
      }
      const missing = unit.plain ? undefined : scope.missing(unit);
      if (missing !== undefined) {
        this.#add(policy, rule, position, notEvaluated(policy, rule, scope, missing));
        continue;
      }
      const result = scope.evaluate(unit);
      this.#lookAfter(unit);
      cost += this.#charge(unit, stamp);
      if (cost > costLimit) {
        for (const each of rules.slice(index)) this.#failed(policy, each, position, OUT_OF_BUDGET);
        break;
      }
      if (rule.annotations.length > 0) {
        const errors = annotate(policy, rule, scope, this.#outcome, sensitiveIn(policy, this.#view));
        // Kubernetes denies a request if an audit annotation fails, whatever the actions are; a Policy does not.
        if (policy.model.kind !== 'Policy') {
          const denies = policy.model.failurePolicy === 'Fail';
          for (const message of errors)
            this.#add(policy, rule, position, { ...failed(policy, rule, scope, message), denies });
        }
      }
      this.#result(policy, rule, position, result);
    }
    this.#outcome.cost += cost;
  }

  #result(policy: CompiledPolicy, rule: CompiledRule, position: number, result: Result): void {
    if (result === true) {
      if (this.#outcome.passes)
        this.#add(policy, rule, position, makeResult(policy, rule, { result: 'pass', message: '' }));
      return;
    }
    const exempt = this.#exempt(policy, rule);
    if (exempt !== undefined) this.#add(policy, rule, position, exempt);
    else if (result === false)
      this.#add(policy, rule, position, violation(policy, rule, this.#view, this.#evaluation, this.#explains()));
    else this.#add(policy, rule, position, failure(policy, rule, this.#view, result));
  }

  #explains(): boolean {
    return this.#outcome.explained++ < MAX_EXPLAINED && !this.#evaluation.clock.isLate();
  }

  #failed(policy: CompiledPolicy, rule: CompiledRule, position: number, message: string): void {
    const exempt = this.#exempt(policy, rule);
    this.#add(policy, rule, position, exempt ?? failed(policy, rule, this.#view.scope, message));
  }

  #exempt(policy: CompiledPolicy, rule: CompiledRule): RuleResult | undefined {
    const { scope, original } = this.#view;
    const found = exemption(this.#set, policy, rule, scope, original);
    if (found === undefined) return undefined;
    if ('what' in found) return notEvaluated(policy, rule, scope, found);
    const { exception } = found;
    const skipped = `exempt by PolicyException ${exception}`;
    return makeResult(policy, rule, { result: 'skip', message: skipped, skipped, exception });
  }

  #notEvaluated(policy: CompiledPolicy, position: number, missing: Missing): void {
    this.#all(policy, position, (rule) => notEvaluated(policy, rule, this.#view.scope, missing));
  }

  #all(policy: CompiledPolicy, position: number, result: (rule: CompiledRule) => RuleResult): void {
    this.#outcome.matched(position);
    for (const rule of policy.rules) this.#add(policy, rule, position, result(rule));
  }

  #add({ rules }: CompiledPolicy, rule: CompiledRule, position: number, result: RuleResult): void {
    this.#outcome.add(position, rules.indexOf(rule), result);
  }

  /** Returns the cost of `unit` and of each variable that this policy reads for the first time. */
  #charge(unit: Unit, stamp: number): number {
    let { cost } = unit;
    for (const variable of unit.used) {
      if (variable.charged === stamp) continue;
      variable.charged = stamp;
      cost += this.#charge(variable, stamp);
    }
    return cost;
  }
}
