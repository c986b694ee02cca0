/** A rule that does not hold: what is said about it, and whether it may stay so because it did not hold before. */
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

/** `explains`: whether to say why. Nobody reads hundreds of reasons, and to find one takes longer than to judge. */
export function violation(
  policy: CompiledPolicy,
  rule: CompiledRule,
  view: View,
  evaluation: Evaluation,
  explains: boolean,
): RuleResult {
  const { scope } = view;
  const sensitive = sensitiveIn(policy, view);
  const why = explains ? whyFalse(rule.unit, scope, sensitive, view.lane.path) : undefined;
  const parts = { message: messageOf(rule, scope, sensitive), ...whyParts(rule, view, why) };
  if (rule.model.ratchet && isNoWorse(policy, rule, scope, evaluation, sensitive)) {
    const message = `${parts.message} (admitted: the old object violates the rule too, and this update does not make it worse)`;
    return makeResult(policy, rule, { ...parts, message, result: 'audit', audited: true });
  }
  return violated(policy, rule, scope, { ...parts, result: 'fail' });
}

/** A rule that could not be evaluated. An error may quote a value, so one that may quote a hidden value says less. */
export function failure(policy: CompiledPolicy, rule: CompiledRule, view: View, result: Result): RuleResult {
  const sensitive = sensitiveIn(policy, view);
  const message = failureText(rule.unit, result, sensitive);
  const why =
    result instanceof CelError ? whyMissing(rule.unit, result, view.scope, sensitive, view.lane.path) : undefined;
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
  const path = view.lane.path;
  return {
    ...(why === undefined ? {} : { why: why.text }),
    ...(field === undefined ? {} : { field: path === undefined ? field : fieldInController(field, path) }),
  };
}

/** Only a field of what was sent can be mended. */
function fieldOf(place: Place | undefined, { scope }: View): string | undefined {
  const sent = scope.subject.object === null ? 'oldObject' : 'object';
  return place?.root === sent && place.steps.length > 0 ? stepsText(place.steps) : undefined;
}
