import type { RuleResult } from './decision.ts';

/**
 * `resultText` writes a result as one sentence of facts and one of advice: the value that made the rule false, then the
 * author's message.
 *
 *     resultText({ why: 'spec.backup.enabled is false, want true', message: 'Set it to true.' });
 *     // spec.backup.enabled is false, want true. Set it to true.
 */
export function resultText({ message, why = '' }: Pick<RuleResult, 'message' | 'why'>): string {
  if (why === '' || message.includes(why)) return message;
  if (message === '') return why;
  // A message that is not a sentence, such as `failed expression: …`, continues the first sentence.
  return `${why}${/^[a-z]/.test(message) ? ';' : '.'} ${message}`;
}
