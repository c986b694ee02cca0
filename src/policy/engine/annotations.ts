/** Audit annotations: what a rule has to say for the audit log, whether it holds or not. */
import type { Sensitive } from '../why/index.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import type { Outcome } from './outcome.ts';
import type { Scope } from './scope.ts';

/** As in Kubernetes. What must not be shown does not go into a log either. */
const MAX_LENGTH = 10 * 1024;

export function annotate(
  policy: CompiledPolicy,
  rule: CompiledRule,
  scope: Scope,
  outcome: Outcome,
  sensitive: Sensitive,
): void {
  for (const { key, unit } of rule.annotations) {
    if (sensitive.hidesUnit(unit) || (!unit.plain && scope.missing(unit) !== undefined)) continue;
    const { result } = scope.compute(unit);
    // Null means none, and what fails has nothing to say: the rule itself tells what is wrong.
    if (typeof result !== 'string') continue;
    const text = result.trim();
    if (text !== '') outcome.annotate(policy, key, text.slice(0, MAX_LENGTH));
  }
}
