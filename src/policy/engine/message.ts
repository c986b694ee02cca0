/** The message of a violation: what the author computes, else what the author wrote, else the expression itself. */
import type { Sensitive } from '../why/index.ts';
import type { CompiledRule } from './compile.ts';
import { shorten } from './results.ts';
import type { Scope } from './scope.ts';

/** As in Kubernetes: a computed message that is longer, has several lines or is empty is not used. */
const MAX_BYTES = 5 * 1024;

export function messageOf(rule: CompiledRule, scope: Scope, sensitive: Sensitive): string {
  const { message, expression } = rule.model;
  // A message that is put together from what must not be shown is not shown.
  const open = rule.message !== undefined && !sensitive.hidesUnit(rule.message);
  const computed = open ? computedMessage(rule, scope) : '';
  return computed || (message ?? '').trim() || `failed expression: ${shorten(expression.text)}`;
}

function computedMessage({ message: unit }: CompiledRule, scope: Scope): string {
  if (unit === undefined || scope.missing(unit) !== undefined) return '';
  const { result } = scope.compute(unit);
  if (typeof result !== 'string') return '';
  const text = result.trim();
  return text.includes('\n') || Buffer.byteLength(text) > MAX_BYTES ? '' : text;
}
