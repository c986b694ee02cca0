/** Finds the exception from a rule. It is evaluated only for violated rules. */
import type { Missing } from '../match/match.ts';
import type { Subject } from '../match/subject.ts';
import type { CompiledException, CompiledPolicy, CompiledRule } from './compile.ts';
import { conditionsAnswer } from './conditions.ts';
import type { Scope } from './scope.ts';
import type { PolicySet } from './set.ts';

type Exemption = { readonly exception: string } | Missing | undefined;

/**
 * `original` is the request as it was sent; `scope` may see it as the Pod of a template. An exception may match either.
 */
export function exemption(
  set: PolicySet,
  policy: CompiledPolicy,
  rule: CompiledRule,
  scope: Scope,
  original: Scope,
): Exemption {
  if (rule.model.exceptions === 'Never' || policy.model.kind !== 'Policy') return undefined;
  let missing: Missing | undefined;
  for (const exception of set.exceptions.get(policy.model.name) ?? []) {
    if (!isAbout(exception, policy, rule) || isOver(exception, scope.subject.world.now)) continue;
    for (const each of scope === original ? [scope] : [original, scope]) {
      // An exception for Pods also applies to the Pod of a template.
      const subject = each === original ? each.subject : each.subject.asPod();
      const answer = answerOf(exception, each, subject);
      if (answer === true) return { exception: `${exception.model.namespace}/${exception.model.name}` };
      if (answer !== false) missing ??= answer;
    }
  }
  return missing;
}

function isAbout({ model }: CompiledException, policy: CompiledPolicy, rule: CompiledRule): boolean {
  return model.policies.some(
    ({ name, rules }) => name === policy.model.name && (rules === undefined || rules.includes(rule.model.name)),
  );
}

const isOver = ({ model }: CompiledException, now: number): boolean =>
  model.expiresAt !== undefined && now >= model.expiresAt;

/** A condition that cannot be evaluated exempts nothing; if it needs a request, the result says so. */
function answerOf({ match, conditions }: CompiledException, scope: Scope, subject: Subject): boolean | Missing {
  const matched = match === undefined ? true : match.answer(subject);
  if (matched === false) return false;
  const { answer } = conditionsAnswer(conditions, scope);
  if (answer === false || answer === 'error') return false;
  return matched === true ? answer : matched;
}
