/**
 * The policies of a running cluster.
 *
 * Input: a client. Output: the policies that the webhook evaluates (`startPolicySource`), the check of Policies
 * themselves (`policyGate`), the report of each replica to the leader (`startReplicaReport`), the check of stored
 * objects for reconcilers (`storedGate`), and Events on denials. This module does not know how requests arrive.
 */
export { type BlastRadius, type BlastRadiusOptions, blastRadius } from './blast-radius.ts';
export { denialEvents } from './denial-events.ts';
export { type PolicyGate, type PolicyGateOptions, policyGate } from './policy-gate.ts';
export { type ReplicaReporting, type ReplicaReportOptions, startReplicaReport } from './replica-report.ts';
export { type LivePolicySource, type PolicySourceOptions, type SourceChange, startPolicySource } from './source.ts';
export { type StoredAnswer, type StoredGate, type StoredGateOptions, storedGate } from './stored-gate.ts';
