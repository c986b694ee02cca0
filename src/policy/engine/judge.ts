/** The rules of the policies that match one view of a request. */
import type { Missing } from '../match/match.ts';
import { annotate } from './annotations.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import { conditionsAnswer } from './conditions.ts';
import { exemption } from './exceptions.ts';
import type { MatchGroup } from './lanes.ts';
import type { Outcome } from './outcome.ts';
import { findParams } from './params.ts';
import { failed, makeResult, notAsked } from './results.ts';
import type { Judgement } from './scope.ts';
import type { PolicySet } from './set.ts';
import type { Unit } from './unit.ts';
import type { View } from './views.ts';
import { failure, sensitiveIn, violation } from './violation.ts';

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';
const OUT_OF_TIME = 'there was no time left to ask this rule';

/** How many policies are judged before the clock is looked at. */
const POLICIES_BETWEEN_LOOKS = 16;

/** Numbers each judgement of a policy in the process, so that a shared variable is charged once to each. */
let judgements = 0;

export class Judge {
  readonly #set: PolicySet;
  readonly #view: View;
  readonly #judgement: Judgement;
  readonly #outcome: Outcome;
  #sinceLook = 0;
  #late = false;

  constructor(set: PolicySet, view: View, judgement: Judgement, outcome: Outcome) {
    this.#set = set;
    this.#view = view;
    this.#judgement = judgement;
    this.#outcome = outcome;
  }

  group(group: MatchGroup): void {
    const answer = group.answer(this.#view.scope.subject);
    if (answer === false) return;
    const { policies, positions } = group;
    for (let index = 0; index < policies.length; index++) {
      const policy = policies[index] as CompiledPolicy;
      const position = positions[index] as number;
      if (policy.rules.length === 0) continue;
      if (this.#isLate()) this.#all(policy, position, (rule) => failed(policy, rule, this.#view.scope, OUT_OF_TIME));
      else if (answer === true) this.#policy(policy, position);
      else this.#notAsked(policy, position, answer);
    }
  }

  #isLate(): boolean {
    const { deadline } = this.#judgement;
    if (deadline === undefined || this.#late) return this.#late;
    if (++this.#sinceLook < POLICIES_BETWEEN_LOOKS) return false;
    this.#sinceLook = 0;
    this.#late = Date.now() >= deadline;
    return this.#late;
  }

  #policy(policy: CompiledPolicy, position: number): void {
    const { scope } = this.#view;
    const stamp = ++judgements;
    if (policy.conditions.length > 0) {
      const { answer, message } = conditionsAnswer(policy.conditions, scope, (unit) => this.#charge(unit, stamp));
      if (answer === false) return;
      if (answer === 'error') {
        // Kubernetes takes a condition that fails under Ignore for one that is not met.
        if (policy.model.failurePolicy === 'Fail') {
          this.#all(policy, position, (rule) => failed(policy, rule, scope, message));
        }
        return;
      }
      if (answer !== true) {
        this.#notAsked(policy, position, answer);
        return;
      }
    }
    this.#outcome.matched(position);
    if (policy.model.params === undefined) this.#rules(policy, position, stamp);
    else this.#withParams(policy, position);
  }

  #withParams(policy: CompiledPolicy, position: number): void {
    const { scope } = this.#view;
    const found = findParams(policy, scope);
    if ('what' in found) this.#all(policy, position, (rule) => notAsked(policy, rule, scope, found));
    else if ('objects' in found) {
      for (const params of found.objects) {
        scope.useParams(params);
        this.#rules(policy, position, ++judgements);
      }
    } else if (found.none === 'Deny') {
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
    for (let index = 0; index < rules.length; index++) {
      const rule = rules[index] as CompiledRule;
      const { unit } = rule;
      if (!unit.plain) {
        const missing = scope.missing(unit);
        if (missing !== undefined) {
          this.#outcome.add(position, notAsked(policy, rule, scope, missing));
          continue;
        }
      }
      const result = scope.ask(unit);
      cost += unit.used.length === 0 ? unit.cost : this.#charge(unit, stamp);
      if (cost > costLimit) {
        for (const each of rules.slice(index)) this.#failed(policy, each, position, OUT_OF_BUDGET);
        break;
      }
      if (rule.annotations.length > 0)
        annotate(policy, rule, this.#view.scope, this.#outcome, sensitiveIn(policy, this.#view));
      if (result === true) {
        if (this.#outcome.passes)
          this.#outcome.add(position, makeResult(policy, rule, { result: 'pass', message: '' }));
      } else if (result === false) this.#violated(policy, rule, position);
      else this.#outcome.add(position, this.#exempt(policy, rule) ?? failure(policy, rule, this.#view, result));
    }
    this.#outcome.cost += cost;
  }

  #violated(policy: CompiledPolicy, rule: CompiledRule, position: number): void {
    const exempt = this.#exempt(policy, rule);
    this.#outcome.add(position, exempt ?? violation(policy, rule, this.#view, this.#judgement));
  }

  #failed(policy: CompiledPolicy, rule: CompiledRule, position: number, message: string): void {
    const exempt = this.#exempt(policy, rule);
    this.#outcome.add(position, exempt ?? failed(policy, rule, this.#view.scope, message));
  }

  #exempt(policy: CompiledPolicy, rule: CompiledRule) {
    const { scope, original } = this.#view;
    const found = exemption(this.#set, policy, rule, scope, original);
    if (found === undefined) return undefined;
    if ('what' in found) return notAsked(policy, rule, scope, found);
    const { exception } = found;
    const skipped = `exempt by PolicyException ${exception}`;
    return makeResult(policy, rule, { result: 'skip', message: skipped, skipped, exception });
  }

  #notAsked(policy: CompiledPolicy, position: number, missing: Missing): void {
    this.#all(policy, position, (rule) => notAsked(policy, rule, this.#view.scope, missing));
  }

  #all(policy: CompiledPolicy, position: number, result: (rule: CompiledRule) => ReturnType<typeof failed>): void {
    this.#outcome.matched(position);
    for (const rule of policy.rules) this.#outcome.add(position, result(rule));
  }

  /** What `unit` cost, and each variable that it read, the first time that this policy reads it. */
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
