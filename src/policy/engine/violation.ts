/** A rule that does not hold: what is said about it, and whether it may stay so because it did not hold before. */
import type { RuleResult } from '../decision.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import { messageOf } from './message.ts';
import { violated } from './results.ts';
import type { View } from './views.ts';

export function violation(policy: CompiledPolicy, rule: CompiledRule, view: View): RuleResult {
  const { scope } = view;
  const { fieldPath } = rule.model;
  return violated(policy, rule, scope, {
    result: 'fail',
    message: messageOf(rule, scope, true),
    ...(fieldPath === undefined ? {} : { field: fieldPath }),
  });
}
