/**
 * The webhook: every apply to a kind of the platform, and to whatever policies match, passes its gates, and is let in or denied
 * with the reason.
 *
 * In: AdmissionReviews over HTTPS, a cluster to install the webhook configurations in (or none), certificates (or it makes its
 * own), policies and owners as somebody keeps them (`live`). Out: a decision for each request, the webhook configurations, and
 * `decide`, what the platform's own gates say, for whoever has a request in hand.
 * It must not know: how objects are reconciled, what brokers do, or how a policy is compiled.
 */
export { denialMessage, encodeReview } from './answer.ts';
export { askCluster } from './authorize.ts';
export { configurationName, type FailurePolicy, type WebhookTarget } from './configuration.ts';
export type { Applied, Configurations } from './configurations.ts';
export { type Comparers, type CrdGateOptions, type Environment, startComparers } from './crds/index.ts';
export { deadlineIn } from './deadline.ts';
export { demandNobodyServes } from './elsewhere.ts';
export {
  type Decision,
  decide,
  type Facts,
  type Findings,
  type Gate,
  gates,
  noFacts,
  type Violation,
} from './gates.ts';
export { type InLine, keepInLine } from './in-line.ts';
export { type Deadline, type Judge, judgeWith, type LaterGate, type Phase } from './judge.ts';
export * from './live/index.ts';
export { type AdmissionMetrics, admissionMetrics } from './metrics.ts';
export { mutateForPlatform } from './mutate.ts';
export { type Observer, observers } from './observer.ts';
export {
  type Owner,
  type OwnerChain,
  type OwnerLookup,
  ownerOf,
  type ReadOwner,
  resolveChain,
  unknownChain,
} from './owners.ts';
export type { PolicySource } from './policies.ts';
export { type AdmissionRequest, decodeReview, type Operation, type UserInfo } from './review.ts';
export { withoutItself } from './set-for.ts';
export { type Admission, type AdmissionOptions, startAdmission } from './start.ts';
