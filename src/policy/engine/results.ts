/** Builds results of rules that are violated, failed or could not be evaluated. */
import { CelError, type Result, show } from '../../cel/index.ts';
import type { ResultKind, RuleResult } from '../decision.ts';
import type { Missing } from '../match/match.ts';
import type { Action } from '../model.ts';
import type { CompiledPolicy, CompiledRule } from './compile.ts';
import type { Scope } from './scope.ts';

type ResultParts = Pick<RuleResult, 'result' | 'message'> & Partial<RuleResult>;

export function makeResult(policy: CompiledPolicy, rule: CompiledRule, parts: ResultParts): RuleResult {
  const { model } = policy;
  const { name, severity, category, reason } = rule.model;
  return {
    policyKind: model.kind,
    policy: model.name,
    ...(model.binding === undefined ? {} : { binding: model.binding }),
    rule: name,
    denies: false,
    audited: false,
    severity,
    ...(category === undefined ? {} : { category }),
    ...(reason === undefined ? {} : { reason }),
    ...parts,
  };
}

/** The actions of a rule now; until `enforceAfter` it only audits. */
function actionsOf({ model }: CompiledRule, now: number): readonly Action[] {
  return model.enforceAfter !== undefined && now < model.enforceAfter ? ['Audit'] : model.actions;
}

export function violated(policy: CompiledPolicy, rule: CompiledRule, scope: Scope, parts: ResultParts): RuleResult {
  const actions = actionsOf(rule, scope.subject.world.now);
  return makeResult(policy, rule, {
    ...parts,
    result: resultOf(actions),
    denies: actions.includes('Deny'),
    audited: actions.includes('Audit'),
  });
}

function resultOf(actions: readonly Action[]): ResultKind {
  if (actions.includes('Deny')) return 'fail';
  return actions.includes('Warn') ? 'warn' : 'audit';
}

export function failed(policy: CompiledPolicy, rule: CompiledRule, scope: Scope, message: string): RuleResult {
  const actions = actionsOf(rule, scope.subject.world.now);
  const counts = policy.model.failurePolicy === 'Fail';
  return makeResult(policy, rule, {
    result: 'error',
    message,
    denies: counts && actions.includes('Deny'),
    audited: counts && actions.includes('Audit'),
  });
}

/**
 * A scan, a reconciler or the CLI skips a rule if information is missing, and reports that. For a complete request,
 * missing information is a fault of the platform (an unsynced cache), and the request must not be admitted because of
 * it.
 */
export function notEvaluated(policy: CompiledPolicy, rule: CompiledRule, scope: Scope, missing: Missing): RuleResult {
  const skips = missing.what === 'request' || scope.subject.unknown.length > 0;
  if (!skips) return failed(policy, rule, scope, `${missing.detail} could not be looked up`);
  const skipped = missing.what === 'request' ? `needs a request: ${missing.detail}` : `needs ${missing.detail}`;
  return makeResult(policy, rule, { result: 'skip', message: skipped, skipped });
}

/** `errorText` describes the error of an expression. */
export function errorText(rule: { readonly text: string }, result: Result): string {
  const expression = shorten(rule.text);
  if (result instanceof CelError) return `expression '${expression}' resulted in error: ${result.message}`;
  return `expression '${expression}' must evaluate to true or false, got ${show(result, 60)}`;
}

export const shorten = (text: string, limit = 300): string => {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length > limit ? `${line.slice(0, limit - 1).toWellFormed()}…` : line;
};
