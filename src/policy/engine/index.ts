/**
 * The engine: models into policies that judge, policies into sets, a set and a request into a decision.
 *
 * In: models, requests, a world of caches. Out: decisions with their reasons. It does no input or output, and must not
 * know where a model or a request came from.
 */
export {
  type CompiledException,
  type CompiledMutation,
  type CompiledPolicy,
  type CompiledRule,
  compileException,
  compilePolicy,
  type PolicyCompileOptions,
} from './compile.ts';
export { type AskAuthorizer, type DecideOptions, decide, decideWithAuthorizer } from './decide.ts';
export {
  type ExpressionExplanation,
  explainPolicy,
  type MatchExplanation,
  type PolicyExplanation,
  type RuleExplanation,
} from './explain.ts';
export { nextTransition, scheduleStateAt } from './schedule.ts';
export {
  DEFAULT_EXCEPTION_NAMESPACES,
  DEFAULT_PLATFORM_NAMESPACE,
  type PolicySet,
  type PolicySetOptions,
  policySet,
  type ScopeEntry,
} from './set.ts';
export { preparePolicy } from './tally.ts';
