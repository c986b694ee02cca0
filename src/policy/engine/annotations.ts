/** Evaluates audit annotations, which a rule adds to the audit log whether it passes or not. */
import { CelError } from '../../cel/index.ts';
import type { Sensitive } from '../why/index.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import type { Outcome } from './outcome.ts';
import { errorText } from './results.ts';
import type { Scope } from './scope.ts';

/** The maximum length of an annotation, as in Kubernetes. Sensitive values are not written to the audit log. */
const MAX_LENGTH = 10 * 1024;

/** `annotate` evaluates the annotations of a rule and returns the errors. */
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
    // Null omits the annotation, as in Kubernetes.
    if (typeof result !== 'string') continue;
    const text = result.trim();
    if (text !== '') outcome.annotate(policy, key, text.slice(0, MAX_LENGTH));
  }
  return errors;
}
