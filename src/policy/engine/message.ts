/** The message of a violation: the messageExpression, else the message, else the expression itself. */
import type { Sensitive } from '../why/index.ts';
import type { CompiledRule } from './compile.ts';
import { shorten } from './results.ts';
import type { Scope } from './scope.ts';

/**
 * The maximum size of a computed message. As in Kubernetes, one that is longer, empty or has several lines is ignored.
 */
const MAX_BYTES = 5 * 1024;

export function messageOf(rule: CompiledRule, scope: Scope, sensitive: Sensitive): string {
  const { message, expression } = rule.model;
  // A message that is computed from sensitive values is not shown.
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
