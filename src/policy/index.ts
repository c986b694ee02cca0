/**
 * From a Policy, ValidatingAdmissionPolicy or MutatingAdmissionPolicy to a decision.
 *
 * Stability: beta. Everything that this file exports follows semantic versioning from 1.0.0 on. Until then a minor
 * release may change it, and the changelog lists each change. Message texts are for people and may change; codes and
 * result kinds do not.
 *
 * Input: compiled policies, a request and a `World` (the cluster state that policies may read). Output: a decision with
 * its reasons. This module does not know where a request comes from (webhook, CLI, scan, test or reconciler) and does
 * no input or output: a decision depends on its arguments only. The one exception is a `deadline`, which is compared
 * with the time of day.
 *
 *     import { compilePolicy, decide, emptyWorld, policySet, readPolicy } from 'kidp/policy';
 *
 *     const { model, issues } = readPolicy({
 *       apiVersion: 'platform.company.com/v1',
 *       kind: 'Policy',
 *       metadata: { name: 'replica-limit' },
 *       spec: {
 *         selector: { resourceTypes: ['apps/v1/Deployment'] },
 *         rules: [{ name: 'at-most-five', expression: 'spec.replicas <= 5', message: 'Use at most five replicas.' }],
 *       },
 *     });
 *     if (model === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
 *     const { policy } = compilePolicy(model);
 *     const set = policySet({ policies: policy === undefined ? [] : [policy] });
 *     const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 9 } };
 *     const kind = { group: 'apps', version: 'v1', kind: 'Deployment' };
 *     const { allowed, results } = decide(set, { uid: '1', kind, operation: 'CREATE', object }, emptyWorld(Date.now()));
 *     console.log(allowed, results[0]?.why); // false spec.replicas is 9, want at most 5
 */

// Read: objects into policy models, with the issues of each.

export { issueText } from './issue-text.ts';
export { readException, readPolicy } from './load/index.ts';
export type {
  ContextModel,
  ExceptionModel,
  ExpressionModel,
  MatchModel,
  MutationModel,
  NamedExpression,
  ParamsModel,
  PodControllersModel,
  PolicyIssue,
  PolicyKind,
  PolicyModel,
  RuleModel,
  TypeMatch,
} from './model.ts';
export { isNative, readNative } from './native/index.ts';

// Compile: models into an immutable set of policies.

export {
  type CompiledException,
  type CompiledMutation,
  type CompiledPolicy,
  type CompiledRule,
  compileException,
  compilePolicy,
  type PolicyCompileOptions,
  type PolicySet,
  type PolicySetOptions,
  policySet,
} from './engine/index.ts';

// Decide: a set, a request and a world into a decision.

export type { MutationDecision, PolicyDecision, ResultKind, RuleResult } from './decision.ts';
export { type AskAuthorizer, type DecideOptions, decide, decideWithAuthorizer } from './engine/index.ts';
export { type JsonPatchOperation, jsonPatchBetween, type MutateOptions, mutate } from './mutation/index.ts';
export type {
  AdmissionRequest,
  GroupVersionKind,
  GroupVersionResource,
  Json,
  Operation,
  RequestPart,
  UserInfo,
} from './request.ts';
export { resultText } from './result-text.ts';
export { type StoredType, storedRequest } from './stored.ts';
export { emptyWorld, type LabelSelector, type ObjectQuery, type World } from './world.ts';

// Explain: what matched, and the value of every sub-expression.

export {
  type ExpressionExplanation,
  explainPolicy,
  type MatchExplanation,
  type PolicyExplanation,
  type RuleExplanation,
} from './engine/index.ts';

// Test: the tests embedded in policies, and type checks against schemas.

export {
  type Coverage,
  type PolicyTest,
  type RuleCoverage,
  runPolicyTests,
  type TestReport,
  type TestResult,
  type TestRunOptions,
} from './testing/index.ts';
export {
  combineSchemas,
  crdSchemas,
  kubernetesSchemas,
  openApiSchemas,
  platformSchemas,
  type SchemaKind,
  type SchemaSource,
  type TypeCheckReport,
  typeCheck,
  typeCheckPolicy,
} from './typecheck/index.ts';

// Convert: policies between kidp, Kubernetes, Gatekeeper and Kyverno.

export {
  type Conversion,
  type ConversionNote,
  type ConversionOptions,
  type ConversionTarget,
  convertPolicies,
} from './convert/index.ts';
