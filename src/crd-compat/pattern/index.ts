/**
 * What strings a schema accepts, decided by acceptance: patterns, enumerations, lengths and formats in one algebra of sets.
 *
 * In: patterns in the RE2 syntax of Go, and the keywords of a schema that are about strings. Out: answers `yes`, `no` with a string
 * that shows it, or `unknown` with the reason; and example strings. It must not know CRDs, rules or whole schemas. The same question
 * always has the same answer: what it may cost is counted in steps, not in time.
 */

export { expressionOf, PatternError } from './expression.ts';
export { type Answer, StringSet } from './string-set.ts';
export { patternIncludes, type StringConstraints, stringsOf } from './strings.ts';
