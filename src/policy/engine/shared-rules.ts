/**
 * The rules of policies with the same selector, without duplicate expressions; each expression lists all rules that
 * contain it. If every rule passes, which is the usual case, a thousand policies with the same expression cost as much
 * as one.
 */
import { BATCH_COST_LIMIT, type Batch, batches, codeAllowed, prepareForBatch } from '../../cel/internal.ts';
import { type CompiledPolicy, type CompiledRule, EXPRESSION_COST_LIMIT } from './compile.ts';
import { prepareTerms, type SplitRule, sharedTerms } from './shared-terms.ts';
import type { Unit } from './unit.ts';

export interface SharedRules {
  /** Expressions that differ only in literals, evaluated together. */
  readonly batches: readonly SharedRuleBatch[];
  /** All other expressions, evaluated one by one. */
  readonly entries: readonly SharedRule[];
  /** The positions of the policies of these rules. */
  readonly positions: readonly number[];
  readonly names: readonly string[];
  /**
   * Policies that must be evaluated one by one: with conditions, params, variables, annotations, or a cost budget that
   * might be exceeded.
   */
  readonly others: readonly { readonly policy: CompiledPolicy; readonly position: number }[];
}

export interface SharedRuleBatch {
  readonly batch: Batch;
  /** One entry per member of the batch. */
  readonly entries: readonly SharedRule[];
  /** Whether all of them read only the object. */
  readonly readsObjectAlone: boolean;
}

export interface SharedRule {
  readonly unit: Unit;
  /** The terms that it shares with other rules, if it is evaluated term by term. */
  readonly split: SplitRule | undefined;
  readonly owners: readonly Owner[];
}

interface Owner {
  readonly policy: CompiledPolicy;
  readonly rule: CompiledRule;
  readonly position: number;
}

export function sharedRulesOf(policies: readonly CompiledPolicy[], positions: readonly number[]): SharedRules {
  const entries = new Map<Unit, Owner[]>();
  const others: { policy: CompiledPolicy; position: number }[] = [];
  const simple: { policy: CompiledPolicy; position: number }[] = [];
  for (const [index, policy] of policies.entries()) {
    if (policy.rules.length === 0) continue;
    const position = positions[index] as number;
    if (!isSimple(policy)) {
      others.push({ policy, position });
      continue;
    }
    simple.push({ policy, position });
    for (const rule of policy.rules) {
      const owner: Owner = { policy, rule, position };
      const known = entries.get(rule.unit);
      if (known === undefined) entries.set(rule.unit, [owner]);
      else known.push(owner);
    }
  }
  const shared = sharedTerms(entries.keys());
  const all = [...entries].map(([unit, owners]) => ({ unit, owners, split: shared.get(unit) }));
  const batched = batchesOf(all);
  const inBatches = new Set(batched.flatMap((each) => each.entries));
  return {
    batches: batched,
    entries: all.filter((entry) => !inBatches.has(entry)),
    positions: simple.map(({ position }) => position),
    names: simple.map(({ policy }) => policy.model.name),
    others,
  };
}

/**
 * `preparePolicy` computes the shared parts of each rule ahead of time, so that new sets with the policy are built
 * faster.
 */
export function preparePolicy(policy: CompiledPolicy): void {
  if (!isSimple(policy)) return;
  for (const { unit } of policy.rules) {
    prepareTerms(unit);
    if (mayBeBatched(unit)) prepareForBatch(unit.compiled.program);
  }
}

const mayBeBatched = ({ needs }: Unit): boolean =>
  needs.watch === undefined && needs.backend !== 'closures' && codeAllowed() && needs.costLimit >= BATCH_COST_LIMIT;

function batchesOf(entries: readonly SharedRule[]): readonly SharedRuleBatch[] {
  const fitting = entries.filter(({ unit, split }) => split === undefined && mayBeBatched(unit));
  const programs = fitting.map(({ unit }) => unit.compiled.program);
  const weights = fitting.map(({ owners }) => owners.length);
  return batches(programs, weights).map((batch) => {
    const members = batch.members.map((index) => fitting[index] as SharedRule);
    return { batch, entries: members, readsObjectAlone: members.every(({ unit }) => unit.readsObjectAlone) };
  });
}

function isSimple({ model, conditions, rules, costLimit }: CompiledPolicy): boolean {
  if (conditions.length > 0 || model.params !== undefined || rules.length * EXPRESSION_COST_LIMIT > costLimit)
    return false;
  return rules.every(({ unit, annotations }) => unit.plain && unit.variables === undefined && annotations.length === 0);
}
