/**
 * Decides whether a new validation rule follows from the old rules and schema.
 *
 * Input: the old rules with their schema, and the new rule with its schema, all at one path. Output: `yes` with a
 * proof, `no` with a value that was accepted and is now refused, or `unknown`. This folder does not know definitions or
 * versions.
 */
export { isTransitionRule } from './compiled.ts';
export { type OldRules, type RuleAnswer, ruleImplies } from './implies.ts';
export { refusedUpdates, type Update } from './transition.ts';
