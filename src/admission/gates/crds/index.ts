/**
 * The fifth gate: CustomResourceDefinitions that are created, changed and deleted, and the Approvals that let a breaking one through.
 *
 * In: a request, the cluster to read stored objects, Approvals and earlier revisions from. Out: what the gate finds. How two
 * definitions compare is src/crd-compat's to know; it runs in a thread of its own, so that other requests do not wait for it.
 */
export { approvalsGate, approvalVerbGate, stampApproval } from '../approvals/gate.ts';
export { type Comparers, startComparers } from './comparison-pool.ts';
export { type CrdGateOptions, crdGate, type Environment } from './gate.ts';
export { crdMetrics } from './metrics.ts';
