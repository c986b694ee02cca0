/** Audit annotations: what a rule has to say for the audit log, whether it holds or not. */
import { CelError } from '../../cel/index.ts';
import type { Sensitive } from '../why/index.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import type { Outcome } from './outcome.ts';
import { errorText } from './results.ts';
import type { Scope } from './scope.ts';

/** Evaluates the audit annotations of a rule, as in Kubernetes. Sensitive values are not written to the audit log. */
const MAX_LENGTH = 10 * 1024;

/** Answers with what failed. */
export function annotate(
  policy: CompiledPolicy,
  rule: CompiledRule,
  scope: Scope,
  outcome: Outcome,
  sensitive: Sensitive,
): readonly string[] {
  const errors: string[] = [];
  for (const { key, unit } of rule.annotations) {
    if (sensitive.hidesUnit(unit) || (!unit.plain && scope.missing(unit) !== undefined)) continue;
    const { result } = scope.compute(unit);
    if (result instanceof CelError) errors.push(errorText(unit, result));
    // Null means none.
    if (typeof result !== 'string') continue;
    const text = result.trim();
    if (text !== '') outcome.annotate(policy, key, text.slice(0, MAX_LENGTH));
  }
  return errors;
}
