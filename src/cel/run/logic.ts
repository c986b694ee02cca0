/** Errors and unknowns in `&&`, `||` and `?:`: the slow path, shared by both back ends. */
import { NonValue, noSuchOverload, type Result, Unknown } from '../values.ts';
import { at } from './frame.ts';

/**
 * What remains when no term has decided: `current` is true (for and) or false (for or) so far, or a NonValue;
 * `term` is not a boolean. Unknowns win over errors, the first error over later ones.
 */
export function absorb(current: Result, term: Result, offset: number): Result {
  if (term instanceof Unknown) return current instanceof Unknown ? mergeUnknowns(current, term) : term;
  if (current instanceof NonValue) return current;
  return term instanceof NonValue ? term : at(noSuchOverload(), offset);
}

function mergeUnknowns(left: Unknown, right: Unknown): Unknown {
  return new Unknown([...new Set([...left.attributes, ...right.attributes])]);
}

/** A condition of `?:` that is no boolean. */
export function badCondition(condition: Result, offset: number): NonValue {
  return condition instanceof NonValue ? condition : at(noSuchOverload(), offset);
}
