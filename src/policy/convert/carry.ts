/**
 * Carries over the parts of a Policy that other systems have too, with shorthand names written out. The rest is noted
 * as lost.
 */
import type { CompiledPolicy } from '../engine/compile.ts';
import type { Unit } from '../engine/unit.ts';
import type { Action, PolicyModel, RuleModel } from '../model.ts';
import type { Json } from '../request.ts';
import { readsOf, withoutShorthands } from './expressions.ts';
import { compact, type SourceNotes } from './notes.ts';

export interface CarriedRule {
  readonly rule: RuleModel;
  readonly action: Action;
  readonly expression: string;
  readonly messageExpression: string | undefined;
  readonly annotations: readonly Json[];
}

export interface Carried {
  readonly rules: readonly CarriedRule[];
  readonly mutations: readonly Json[];
  readonly variables: readonly Json[];
  readonly conditions: readonly { readonly name: string; readonly expression: string }[];
}

export function carriedOver(
  { model, rules, conditions }: CompiledPolicy,
  { notes, now }: { readonly notes: SourceNotes; readonly now: number },
): Carried {
  const deletes = model.match.operations?.includes('DELETE') === true;
  const subject = deletes ? '(object == null ? oldObject : object)' : 'object';
  const full = (text: string): string => withoutShorthands(text, subject);
  const context = new Set(model.context.map(({ name }) => name));
  const gone = new Set<string>();
  /** Reports whether the expression can be evaluated without other objects of the cluster. */
  const stays = (path: string, ...texts: readonly (string | undefined)[]): boolean => {
    for (const text of texts) {
      const { names, variables } = readsOf(text ?? '');
      const read = [...names].find((name) => context.has(name)) ?? [...variables].find((name) => gone.has(name));
      if (read === undefined) continue;
      notes.lost(path, `left out: it reads ${read}, which comes from spec.context and has no native equivalent`);
      return false;
    }
    return true;
  };

  noteLost(model, notes);
  const variables = model.variables.filter(({ name, path, text }) => {
    const kept = stays(path, text);
    if (!kept) gone.add(name);
    return kept;
  });
  return {
    variables: variables.map(({ name, text }) => ({ name, expression: full(text) })),
    conditions: model.matchConditions.flatMap(({ name, path, text }, index) => {
      if (!stays(path, text)) return [];
      return [{ name, expression: typed(full(text), conditions[index]?.unit, 'bool') }];
    }),
    rules: rules
      .filter(({ model: { expression, messageExpression } }) =>
        stays(expression.path, expression.text, messageExpression?.text),
      )
      .map(({ model: rule, unit, message, annotations }) => {
        noteRule(rule, rule.expression.path.replace(/\.expression$/, ''), notes);
        return {
          rule,
          action: rule.enforceAfter !== undefined && rule.enforceAfter > now ? 'Audit' : (rule.actions[0] ?? 'Deny'),
          expression: typed(full(rule.expression.text), unit, 'bool'),
          messageExpression: message === undefined ? undefined : typed(full(message.text), message, 'string'),
          annotations: annotations.map(({ key, unit: value }) => ({
            key,
            valueExpression: typed(full(value.text), value, 'string'),
          })),
        };
      }),
    mutations: model.mutations
      .filter(({ expression }) => stays(expression.path, expression.text))
      .map(({ patchType, expression }) => {
        const patch = { expression: full(expression.text) };
        return compact(
          patchType === 'JSONPatch' ? { patchType, jsonPatch: patch } : { patchType, applyConfiguration: patch },
        );
      }),
  };
}

/** Kubernetes requires a static type; the type of a Policy expression may be known only at run time. */
function typed(text: string, unit: Unit | undefined, wanted: 'bool' | 'string'): string {
  if (unit?.compiled.type.kind !== 'dyn') return text;
  return wanted === 'bool' ? `(${text}) == true` : `string(${text})`;
}

function noteLost(model: PolicyModel, notes: SourceNotes): void {
  if (model.context.length > 0) notes.lost('spec.context', 'has no native equivalent');
  if (model.podControllers !== undefined) {
    notes.lost(
      'spec.podControllers',
      'has no native equivalent: the rules apply to Pods only, not to the workload controllers that create them',
    );
  }
  if (model.sensitivePaths.length > 0) notes.lost('spec.sensitivePaths', 'has no native equivalent');
  if (model.tests.length > 0) notes.lost('spec.tests', 'has no native equivalent: keep the Policy to run its tests');
  if (model.rules.length > 0)
    notes.lost('spec.rules[*].name', 'validations have no names: the message identifies them');
}

function noteRule(rule: RuleModel, path: string, notes: SourceNotes): void {
  if (rule.fieldPath !== undefined) notes.lost(`${path}.fieldPath`, 'has no native equivalent');
  if (rule.severity !== 'medium') notes.lost(`${path}.severity`, 'has no native equivalent');
  if (rule.category !== undefined) notes.lost(`${path}.category`, 'has no native equivalent');
  if (rule.ratchet) {
    notes.lost(
      `${path}.ratchet`,
      'has no native equivalent: existing objects that violate the rule can no longer be updated',
    );
  }
  if (rule.enforceAfter !== undefined) {
    notes.lost(
      `${path}.enforceAfter`,
      `has no native equivalent: ${new Date(rule.enforceAfter).toISOString()} must be enforced manually`,
    );
  }
}

/** Names of conditions in Kubernetes have letters, digits, `-`, `_` and `.`. */
export function conditionName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
  return plain === '' ? 'condition' : plain.slice(0, 63);
}
