/**
 * The API server's treatment of an object under a schema.
 *
 * Input: a structural schema and JSON values. Output: the faults of a value, the value as it would be stored, and
 * values that the schema accepts. This folder does not know definitions, versions or comparisons, which build on it.
 */
export { alikeLists } from './alike.ts';
export { applyDefaults } from './defaults.ts';
export { type Fault, pathText } from './fault.ts';
export { prune } from './prune.ts';
export { rulePlace, usesOldSelf } from './rule-program.ts';
export { sample, samples } from './sample/index.ts';
export type { Wish } from './sample/wish.ts';
export { type Validator, validator } from './validate.ts';
export { without } from './without.ts';
