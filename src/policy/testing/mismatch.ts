/** Describes why a policy does not match a request. */
import type { PolicyExplanation } from '../engine/index.ts';

/** `mismatch` names the field of the selector or binding that does not match, or the exclusion or condition. */
export function mismatch({ match, conditions }: PolicyExplanation): string {
  const refused = match.filter(({ part, answer }) => part !== 'exclude' && answer === 'no');
  if (refused.length > 0) {
    return refused.map(({ part, field }) => (part === 'binding' ? `${field} of the binding` : field)).join(', ');
  }
  const condition = conditions.find(({ shown }) => shown === 'false');
  if (condition !== undefined) return `the condition ${condition.name} is false`;
  const excluded = match.filter(({ part }) => part === 'exclude').map(({ field }) => field);
  return `excluded by ${excluded.join(', ')}`;
}
