/** Collects the results of a decision, in the order of the policies. */
import type { AuthorizationAttributes } from '../../cel/index.ts';
import type { PolicyDecision, RuleResult } from '../decision.ts';
import type { CompiledPolicy } from './compile.ts';
import type { PolicySet } from './set.ts';
import type { SharedRules } from './shared-rules.ts';

interface Placed {
  readonly position: number;
  /** The index of the rule in its policy, because shared expressions are evaluated out of order. */
  readonly rule: number;
  readonly result: RuleResult;
}

export class Outcome {
  readonly passes: boolean;
  cost = 0;
  /** Violations so far. */
  explained = 0;
  readonly #results: Placed[] = [];
  readonly #matched: number[] = [];
  readonly #groups: SharedRules[] = [];
  readonly #annotations = new Map<string, string[]>();

  constructor(passes: boolean) {
    this.passes = passes;
  }

  matched(position: number): void {
    this.#matched.push(position);
  }

  /** Records all policies of a group as matched. */
  matchedGroup(rules: SharedRules): void {
    if (rules.positions.length > 0) this.#groups.push(rules);
  }

  add(position: number, rule: number, result: RuleResult): void {
    this.#results.push({ position, rule, result });
  }

  annotate(policy: CompiledPolicy, key: string, value: string): void {
    const name = `${policy.model.name}/${key}`;
    const known = this.#annotations.get(name) ?? [];
    // The rule is evaluated once per params object; identical results are reported once.
    if (!known.includes(value)) this.#annotations.set(name, [...known, value]);
  }

  decision(set: PolicySet, questions: ReadonlyMap<string, AuthorizationAttributes>): PolicyDecision {
    const results = this.#ordered();
    return {
      allowed: !results.some(({ denies }) => denies),
      revision: set.revision,
      matched: this.#names(set),
      results,
      auditAnnotations: Object.fromEntries([...this.#annotations].map(([key, values]) => [key, values.join(', ')])),
      cost: this.cost,
      questions: [...questions.values()],
    };
  }

  #ordered(): readonly RuleResult[] {
    if (this.#results.length === 0) return NO_RESULTS;
    return this.#results.sort((a, b) => a.position - b.position || a.rule - b.rule).map(({ result }) => result);
  }

  /** Most requests match one group of policies, whose names are already sorted. */
  #names(set: PolicySet): readonly string[] {
    const [rules] = this.#groups;
    if (rules !== undefined && this.#groups.length === 1 && this.#matched.length === 0) return rules.names;
    const positions = [...this.#matched, ...this.#groups.flatMap((each) => each.positions)].sort((a, b) => a - b);
    const names = positions.map((position) => (set.policies[position] as CompiledPolicy).model.name);
    return names.filter((name, index) => name !== names[index - 1]);
  }
}

const NO_RESULTS: readonly RuleResult[] = [];
