/**
 * The policies of a running cluster.
 *
 * In: a client. Out: what the webhook judges by (`startPolicySource`), what it says to Policies themselves (`policyJudge`), what
 * each replica tells the leader (`startReplicaReport`), what reconcilers ask before they act (`storedGate`), and Events about denials. It must not know how requests come in.
 */
export { type BlastRadius, type BlastRadiusOptions, blastRadius } from './blast-radius.ts';
export { denialEvents } from './denials.ts';
export { type JudgePolicy, type PolicyJudgeOptions, policyJudge } from './judge-policy.ts';
export { type ReplicaReporting, type ReplicaReportOptions, startReplicaReport } from './replica.ts';
export { type LivePolicySource, type PolicySourceOptions, type SourceChange, startPolicySource } from './source.ts';
export { type StoredAnswer, type StoredGate, type StoredGateOptions, storedGate } from './stored-gate.ts';
