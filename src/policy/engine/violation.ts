/** The result of a violated rule: its message and explanation, and whether `ratchet` admits it. */
import { CelError, type Result } from '../../cel/index.ts';
import type { RuleResult } from '../decision.ts';
import { HIDDEN, type Place, Sensitive, stepsText, type Why, whyFalse, whyMissing } from '../why/index.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import { messageOf } from './message.ts';
import { fieldInController } from './pods.ts';
import { isNoWorse } from './ratchet.ts';
import { errorText, failed, makeResult, shorten, violated } from './results.ts';
import type { Evaluation } from './scope.ts';
import type { Unit } from './unit.ts';
import type { View } from './views.ts';

/** `explains` adds the explanation. It is limited, because explaining takes longer than evaluating. */
export function violation(
  policy: CompiledPolicy,
  rule: CompiledRule,
  view: View,
  evaluation: Evaluation,
  explains: boolean,
): RuleResult {
  const { scope } = view;
  const sensitive = sensitiveIn(policy, view);
  const why = explains ? whyFalse(rule.unit, scope, sensitive, view.index.path) : undefined;
  const parts = { message: messageOf(rule, scope, sensitive), ...whyParts(rule, view, why) };
  if (rule.model.ratchet && isNoWorse(policy, rule, scope, evaluation, sensitive)) {
    const message = `${parts.message} (admitted: the old object violates the rule too, and this update does not make it worse)`;
    return makeResult(policy, rule, { ...parts, message, result: 'audit', audited: true });
  }
  return violated(policy, rule, scope, { ...parts, result: 'fail' });
}

/**
 * `failure` is the result of a rule that failed. An error may quote a value, so its text is shortened for sensitive
 * expressions.
 */
export function failure(policy: CompiledPolicy, rule: CompiledRule, view: View, result: Result): RuleResult {
  const sensitive = sensitiveIn(policy, view);
  const message = failureText(rule.unit, result, sensitive);
  const why =
    result instanceof CelError ? whyMissing(rule.unit, result, view.scope, sensitive, view.index.path) : undefined;
  return { ...failed(policy, rule, view.scope, message), ...whyParts(rule, view, why) };
}

export function failureText(unit: Unit, result: Result, sensitive: Sensitive): string {
  if (!sensitive.hidesUnit(unit)) return errorText(unit, result);
  return `expression '${shorten(unit.text)}' resulted in error: ${result instanceof CelError ? result.code : HIDDEN}`;
}

export const sensitiveIn = (policy: CompiledPolicy, { original }: View): Sensitive =>
  new Sensitive(policy.model, original.subject);

function whyParts({ model }: CompiledRule, view: View, why: Why | undefined): Pick<RuleResult, 'why' | 'field'> {
  const field = model.fieldPath ?? fieldOf(why?.place, view);
  const path = view.index.path;
  return {
    ...(why === undefined ? {} : { why: why.text }),
    ...(field === undefined ? {} : { field: path === undefined ? field : fieldInController(field, path) }),
  };
}

/** Only a field of the new object can be fixed by the user. */
function fieldOf(place: Place | undefined, { scope }: View): string | undefined {
  const sent = scope.subject.object === null ? 'oldObject' : 'object';
  return place?.root === sent && place.steps.length > 0 ? stepsText(place.steps) : undefined;
}
