/**
 * The engine compiles models to policies, combines policies into sets, and decides requests.
 *
 * Input: models, requests and a `World` of caches. Output: decisions with their reasons. It does no input or output and
 * does not know where a model or a request comes from.
 */
export {
  type CompiledException,
  type CompiledMutation,
  type CompiledPolicy,
  type CompiledRule,
  compileException,
  compileExceptionSteps,
  compilePolicy,
  compileSteps,
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
export { preparePolicy } from './shared-rules.ts';
