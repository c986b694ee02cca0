/**
 * The policies of a running cluster.
 *
 * In: a client. Out: what the webhook judges by (`startPolicySource`), what it says to Policies themselves (`policyGate`), what
 * each replica tells the leader (`startReplicaReport`), what reconcilers ask before they act (`storedGate`), and Events about denials. It must not know how requests come in.
 */
export { type BlastRadius, type BlastRadiusOptions, blastRadius } from './blast-radius.ts';
export { denialEvents } from './denial-events.ts';
export { type PolicyGate, type PolicyGateOptions, policyGate } from './policy-gate.ts';
export { type ReplicaReporting, type ReplicaReportOptions, startReplicaReport } from './replica-report.ts';
export { type LivePolicySource, type PolicySourceOptions, type SourceChange, startPolicySource } from './source.ts';
export { type StoredAnswer, type StoredGate, type StoredGateOptions, storedGate } from './stored-gate.ts';
