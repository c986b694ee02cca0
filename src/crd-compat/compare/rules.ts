/** Compares x-kubernetes-validations: which rules are new, and whether the old schema and rules imply them. */
import { remembered, same } from '../canonical.ts';
import { isTransitionRule, type RuleAnswer, refusedUpdates, ruleImplies, type Update } from '../rules/index.ts';
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type Draft, type Notes, type Place, RISKY, refused, SAFE } from './draft.ts';
import { quote } from './format.ts';
import type { ResourceType } from './identity.ts';

export function compareRules(
  before: CrdSchema,
  after: CrdSchema,
  place: Place,
  notes: Notes,
  type: ResourceType | undefined,
): void {
  const old = before['x-kubernetes-validations'] ?? [];
  const now = after['x-kubernetes-validations'] ?? [];
  if (old.length === 0 && now.length === 0) return;
  const { reworded, changed, added, gone } = paired(old, now);
  for (const [one, other] of reworded) {
    notes.add(place, {
      kind: 'rule-message-changed',
      before: one,
      after: other,
      ...SAFE,
      message: `The message, reason or field path of the rule ${quote(one.rule)} changed.`,
    });
  }
  for (const rule of gone) {
    notes.add(place, {
      kind: `${family(rule, before)}-removed`,
      before: rule,
      ...SAFE,
      message: `The rule ${quote(rule.rule)} was removed.`,
    });
  }
  const sides = { before, after, old, ...(typeof type === 'object' ? { type } : {}) };
  for (const [one, other] of changed) {
    const [was, is] = [family(one, before), family(other, after)];
    const kind = was === is ? (`${is}-changed` as const) : (`${is}-added` as const);
    notes.add(place, {
      kind,
      before: one,
      after: other,
      ...judged(other, sides, place),
      message: `The rule ${quote(one.rule)} became ${quote(other.rule)}.`,
    });
  }
  for (const rule of added) {
    notes.add(place, {
      kind: `${family(rule, after)}-added`,
      after: rule,
      ...judged(rule, sides, place),
      message: `The rule ${quote(rule.rule)} was added.`,
    });
  }
}

interface Sides {
  readonly before: CrdSchema;
  readonly after: CrdSchema;
  readonly old: readonly ValidationRule[];
  /** The type of the objects, if they are whole resources. */
  readonly type?: Exclude<ResourceType, 'embedded'>;
}

type Judgement = Omit<Draft, 'version' | 'path' | 'kind' | 'message'>;

function judged(rule: ValidationRule, sides: Sides, place: Place): Judgement {
  const { before, after } = sides;
  const { answer, witness } = implied(rule, sides);
  if (answer === 'yes') return { ...SAFE, decidedBy: 'acceptance' };
  const isTransition = isTransitionRule(rule, after);
  if (isTransition && rule.optionalOldSelf !== true) return judgedChange(rule, sides, place);
  return {
    ...refused(place, isTransition || before.type === 'object' || before.type === 'array' ? 'object' : 'value'),
    hits: `objects with ${place.path} that do not meet ${quote(rule.rule)}`,
    decidedBy: 'acceptance',
    probe: {
      steps: place.steps,
      ...(answer === 'no' ? { values: [witness] } : {}),
      rule: rule.rule,
      ...(isTransition ? { updates: updatesOf(rule, sides) } : {}),
      expect: 'refused',
    },
    otherwise: { ...RISKY, decidedBy: 'syntax' },
  };
}

/**
 * A rule with oldSelf leaves every object valid and restricts updates: an update that was accepted shows it. It also
 * applies to unchanged values: if the rule rejects a value as its own successor, the object can no longer be updated.
 */
function judgedChange(rule: ValidationRule, sides: Sides, place: Place): Judgement {
  const { answer, witness } = implied({ rule: rule.rule.replace(/\boldSelf\b/g, 'self') }, sides);
  const stuck = answer === 'no';
  return {
    storedObjects: 'breaking',
    manifests: stuck ? 'risky' : 'breaking',
    hits: stuck
      ? `objects with ${place.path} that violates ${quote(rule.rule)} even if it does not change: no update of them is accepted`
      : `updates of ${place.path} that violate ${quote(rule.rule)}`,
    decidedBy: 'acceptance',
    probe: {
      steps: place.steps,
      rule: rule.rule,
      expect: 'refused',
      ...(stuck ? { values: [witness], updated: true } : { updates: updatesOf(rule, sides) }),
    },
    otherwise: { ...RISKY, decidedBy: 'syntax' },
  };
}

const updatesOf = (rule: ValidationRule, { before, after, old, type }: Sides): readonly Update[] =>
  remembered(['updates', before, rule, after, type ?? {}], () =>
    refusedUpdates({ rules: old, schema: before }, rule, after, type),
  );

const implied = (rule: ValidationRule, { before, after, old, type }: Sides): RuleAnswer =>
  remembered(['rule', before, rule, after, type ?? {}], () =>
    ruleImplies({ rules: old, schema: before }, rule, after, type),
  );

const family = (rule: ValidationRule, schema: CrdSchema): 'rule' | 'transition-rule' =>
  isTransitionRule(rule, schema) ? 'transition-rule' : 'rule';

interface Paired {
  readonly reworded: readonly (readonly [ValidationRule, ValidationRule])[];
  readonly changed: readonly (readonly [ValidationRule, ValidationRule])[];
  readonly added: readonly ValidationRule[];
  readonly gone: readonly ValidationRule[];
}

/**
 * Rules have no names. They are matched by equal text, then by equal message, and the rest by order if both sides have
 * equally many.
 */
function paired(old: readonly ValidationRule[], now: readonly ValidationRule[]): Paired {
  const gone = [...old];
  const take = (matches: (rule: ValidationRule) => boolean): ValidationRule | undefined => {
    const at = gone.findIndex(matches);
    return at < 0 ? undefined : gone.splice(at, 1)[0];
  };
  const reworded: [ValidationRule, ValidationRule][] = [];
  const changed: [ValidationRule, ValidationRule][] = [];
  const left = now.filter((rule) => {
    const match = take(
      (other) => plain(other) === plain(rule) && (other.optionalOldSelf ?? false) === (rule.optionalOldSelf ?? false),
    );
    if (match !== undefined && !same(match, rule)) reworded.push([match, rule]);
    return match === undefined;
  });
  const added = left.filter((rule) => {
    const match = rule.message === undefined ? undefined : take((other) => other.message === rule.message);
    if (match !== undefined) changed.push([match, rule]);
    return match === undefined;
  });
  if (added.length !== gone.length) return { reworded, changed, added, gone };
  return {
    reworded,
    changed: [...changed, ...gone.map((one, index) => [one, added[index] as ValidationRule] as const)],
    added: [],
    gone: [],
  };
}

const plain = ({ rule }: ValidationRule): string => rule.trim();
