/** Errors and unknowns in `&&`, `||` and `?:`: the slow path, shared by both back ends. */
import { NonValue, noSuchOverload, type Result, Unknown } from '../values.ts';
import { at } from './frame.ts';

/**
 * `absorb` merges an undecided term: `current` is true (for &&) or false (for ||) so far, or a NonValue; `term` is not
 * a boolean. Unknowns take precedence over errors, and the first error over later ones.
 */
export function absorb(current: Result, term: Result, offset: number): Result {
  if (term instanceof Unknown) return current instanceof Unknown ? mergeUnknowns(current, term) : term;
  if (current instanceof NonValue) return current;
  return term instanceof NonValue ? term : at(noSuchOverload(), offset);
}

function mergeUnknowns(left: Unknown, right: Unknown): Unknown {
  return new Unknown([...new Set([...left.attributes, ...right.attributes])]);
}

/** Returns the error for a condition of `?:` that is not a boolean. */
export function badCondition(condition: Result, offset: number): NonValue {
  return condition instanceof NonValue ? condition : at(noSuchOverload(), offset);
}
