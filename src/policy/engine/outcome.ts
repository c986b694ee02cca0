/** What a decision gathers on its way: results, in the order of the policies. */
import type { AuthorizationAttributes } from '../../cel/index.ts';
import type { PolicyDecision, RuleResult } from '../decision.ts';
import type { CompiledPolicy } from './compile.ts';
import type { PolicySet } from './set.ts';

export class Outcome {
  readonly passes: boolean;
  cost = 0;
  readonly #results: { readonly position: number; readonly result: RuleResult }[] = [];
  readonly #matched: number[] = [];
  readonly #annotations = new Map<string, string[]>();

  constructor(passes: boolean) {
    this.passes = passes;
  }

  matched(position: number): void {
    this.#matched.push(position);
  }

  add(position: number, result: RuleResult): void {
    this.#results.push({ position, result });
  }

  annotate(policy: CompiledPolicy, key: string, value: string): void {
    const name = `${policy.model.name}/${key}`;
    const known = this.#annotations.get(name) ?? [];
    // Asked once for each object of params: what they say alike is said once.
    if (!known.includes(value)) this.#annotations.set(name, [...known, value]);
  }

  decision(set: PolicySet, questions: ReadonlyMap<string, AuthorizationAttributes>): PolicyDecision {
    const results = inOrder(this.#results, ({ position }) => position).map(({ result }) => result);
    const matched = inOrder(this.#matched, (position) => position);
    return {
      allowed: !results.some(({ denies }) => denies),
      revision: set.revision,
      matched: [...new Set(matched.map((position) => (set.policies[position] as CompiledPolicy).model.name))],
      results,
      auditAnnotations: Object.fromEntries([...this.#annotations].map(([key, values]) => [key, values.join(', ')])),
      cost: this.cost,
      questions: [...questions.values()],
    };
  }
}

/** Most requests meet one group of policies, which is in order already. */
function inOrder<T>(list: readonly T[], position: (each: T) => number): readonly T[] {
  for (let index = 1; index < list.length; index++) {
    if (position(list[index] as T) < position(list[index - 1] as T)) {
      return [...list].sort((a, b) => position(a) - position(b));
    }
  }
  return list;
}
