/**
 * The strings that a schema accepts: patterns, enumerations, lengths and formats as sets of strings.
 *
 * Input: patterns in the RE2 syntax of Go, and the string keywords of a schema. Output: `yes`, `no` with a counterexample, or `unknown` with
 * the reason; and example strings. This folder does not know CRDs, rules or whole schemas. The same question always has the same answer,
 * because limits count steps, not time.
 */

export { expressionOf, PatternError } from './expression.ts';
export { type Answer, StringSet } from './string-set.ts';
export { patternIncludes, type StringConstraints, stringsOf } from './strings.ts';
