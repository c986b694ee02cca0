/**
 * From a Policy (and Kubernetes' own ValidatingAdmissionPolicy and MutatingAdmissionPolicy) to a decision.
 *
 * In: compiled policies and a request. Out: a decision with its reasons. It must not know where the request came from (webhook,
 * CLI, scan, test or reconciler) and does no input or output.
 */
export * from './convert/index.ts';
export * from './decision.ts';
export * from './engine/index.ts';
export { issueText } from './issue-text.ts';
export * from './load/index.ts';
export { type Labels, labelsOf, selects } from './match/labels.ts';
export { policyMatchesType } from './match/policy-types.ts';
export { matchesType, type RequestType } from './match/types.ts';
export * from './model.ts';
export * from './mutation/index.ts';
export * from './native/index.ts';
export * from './request.ts';
export type { PolicyState } from './state.ts';
export * from './stored.ts';
export * from './testing/index.ts';
export * from './typecheck/index.ts';
export * from './world.ts';
