/**
 * Whether a validation rule that is new follows from the rules and the schema that were there.
 *
 * In: the old rules with their schema, and the new rule with its own, all at one place. Out: `yes` where it is shown, `no` with a value
 * that was accepted and is now refused, else `unknown`. It must not know definitions or versions.
 */
export { isTransitionRule } from './compiled.ts';
export { type OldRules, type RuleAnswer, ruleImplies } from './implies.ts';
