/** Selects the overloads of a function that accept the argument types, and their result type. */
import type { Overload } from '../declarations.ts';
import { DYN, sameType, type Type } from '../types.ts';
import { isDyn, type Unifier } from './unify.ts';

/**
 * Returns all matching overloads with their result type, which is dyn if they differ. Returns undefined if none
 * matches.
 */
export function matchOverloads(
  overloads: readonly Overload[],
  argumentTypes: readonly Type[],
  member: boolean,
  unifier: Unifier,
): { readonly matching: readonly Overload[]; readonly result: Type } | undefined {
  const matching: Overload[] = [];
  let result: Type | undefined;
  for (const overload of overloads) {
    if (overload.member !== member) continue;
    const [resultType, ...parameters] = unifier.instantiate([overload.result, ...overload.parameters]);
    if (!unifier.assignableAll(argumentTypes, parameters)) continue;
    matching.push(overload);
    const found = unifier.substitute(resultType as Type, false);
    if (result === undefined) result = found;
    else if (!isDyn(result) && !sameType(found, result)) result = DYN;
  }
  return result === undefined ? undefined : { matching, result };
}
