/**
 * What the API server does with an object and a schema.
 *
 * In: a structural schema and values of JSON. Out: faults of a value, the value as it would be stored, and values that the schema takes.
 * It must not know of definitions, versions or comparisons: those are made with it.
 */
export { alikeLists } from './alike.ts';
export { applyDefaults } from './defaults.ts';
export type { Fault } from './fault.ts';
export { prune } from './prune.ts';
export { rulePlace, usesOldSelf } from './rule-program.ts';
export { sample, samples } from './sample/index.ts';
export type { Wish } from './sample/wish.ts';
export { type Validator, validator } from './validate.ts';
export { without } from './without.ts';
