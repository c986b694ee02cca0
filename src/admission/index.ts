/**
 * The admission webhook: every write to a platform kind, and every request that a policy matches, passes its gates and
 * is admitted or denied with a reason.
 *
 * Input: AdmissionReviews over HTTPS; optionally a cluster to install the webhook configurations in, certificates
 * (self-issued by default), and the live policies and owners (`live-policies`). Output: a decision for each request,
 * the webhook configurations, and `decide`, which evaluates the platform gates for callers that already have a request.
 * This module does not know how objects are reconciled, what brokers do, or how policies are compiled.
 */

export type { Applied, Configurations } from './configuration/apply.ts';
export { configurationName, type FailurePolicies, phases, type WebhookTarget } from './configuration/build.ts';
export { ensureNoOtherInstallation } from './configuration/other-installations.ts';
export { type Sync, startSync, subscribeToAll } from './configuration/sync.ts';
export type { FailurePolicy } from './configuration/types.ts';
export { reviewAccess } from './gates/access.ts';
export { type Comparers, type CrdGateOptions, type Environment, startComparers } from './gates/crds/index.ts';
export { type AsyncGate, type Facts, type Gate, noFacts, type Phase } from './gates/gate.ts';
export { type Observer, observers } from './gates/observer.ts';
export {
  type Owner,
  type OwnerChain,
  type OwnerLookup,
  ownerOf,
  type ReadOwner,
  resolveChain,
  unknownChain,
} from './gates/ownership/owner-chain.ts';
export { admissionPipeline, type Pipeline } from './gates/pipeline.ts';
export { decide, gates } from './gates/platform.ts';
export { mutateForPlatform } from './gates/platform-mutation.ts';
export { withoutItself } from './gates/policies/applicable-policies.ts';
export { defaultBreakGlassGroup } from './gates/policies/break-glass.ts';
export type { PolicySource } from './gates/policies/evaluation.ts';
export * from './live-policies/index.ts';
export { type Deadline, deadlineIn } from './review/deadline.ts';
export { type AdmissionRequest, decodeReview, type Operation, type UserInfo } from './review/decode.ts';
export { denialMessage, encodeReview } from './review/encode.ts';
export type { Decision, Findings, Violation } from './review/findings.ts';
export { type AdmissionMetrics, admissionMetrics } from './server/metrics.ts';
export { type Admission, type AdmissionOptions, startAdmission } from './server/start.ts';
