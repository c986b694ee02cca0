/** The message of a violation: what the author computes, else what the author wrote, else the expression itself. */
import type { CompiledRule } from './compile.ts';
import { shorten } from './results.ts';
import type { Scope } from './scope.ts';

/** As in Kubernetes: a computed message that is longer, has several lines or is empty is not used. */
const MAX_BYTES = 5 * 1024;

export function messageOf(rule: CompiledRule, scope: Scope, mayCompute: boolean): string {
  const { message, expression } = rule.model;
  const computed = rule.message === undefined || !mayCompute ? '' : computedMessage(rule, scope);
  return computed || (message ?? '').trim() || `failed expression: ${shorten(expression.text)}`;
}

function computedMessage({ message: unit }: CompiledRule, scope: Scope): string {
  if (unit === undefined || scope.missing(unit) !== undefined) return '';
  const { result } = scope.compute(unit);
  if (typeof result !== 'string') return '';
  const text = result.trim();
  return text.includes('\n') || Buffer.byteLength(text) > MAX_BYTES ? '' : text;
}
