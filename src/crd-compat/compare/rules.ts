/** x-kubernetes-validations. */
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type Notes, type Place, RISKY, SAFE } from './draft.ts';

export function compareRules(before: CrdSchema, after: CrdSchema, place: Place, notes: Notes): void {
  const old = before['x-kubernetes-validations'] ?? [];
  const now = after['x-kubernetes-validations'] ?? [];
  if (old.length === 0 && now.length === 0) return;
  const { gone, added, reworded } = paired(old, now);
  for (const [one, other] of reworded) {
    notes.add(place, {
      kind: 'rule-message-changed',
      before: one,
      after: other,
      ...SAFE,
      message: `What rule ${one.rule} answers with changed.`,
    });
  }
  for (const rule of gone) {
    notes.add(place, {
      kind: `${family(rule)}-removed`,
      before: rule,
      ...SAFE,
      message: `The rule ${rule.rule} was removed.`,
    });
  }
  for (const rule of added) {
    notes.add(place, {
      kind: `${family(rule)}-added`,
      after: rule,
      ...RISKY,
      message: `The rule ${rule.rule} was added.`,
      hits: `objects with ${place.path} that the rule does not accept`,
      decidedBy: 'syntax',
    });
  }
}

const family = (rule: ValidationRule): 'rule' | 'transition-rule' =>
  /\boldSelf\b/.test(rule.rule) ? 'transition-rule' : 'rule';

function paired(old: readonly ValidationRule[], now: readonly ValidationRule[]) {
  const gone = [...old];
  const added: ValidationRule[] = [];
  const reworded: [ValidationRule, ValidationRule][] = [];
  for (const rule of now) {
    const at = gone.findIndex(
      (other) =>
        other.rule.trim() === rule.rule.trim() && (other.optionalOldSelf ?? false) === (rule.optionalOldSelf ?? false),
    );
    const match = gone[at];
    if (match === undefined) {
      added.push(rule);
      continue;
    }
    gone.splice(at, 1);
    if (JSON.stringify(match) !== JSON.stringify(rule)) reworded.push([match, rule]);
  }
  return { gone, added, reworded };
}
