/**
 * The CRD gate: checks CustomResourceDefinitions that are created, changed or deleted.
 *
 * Input: a request, and the cluster to read stored objects, Approvals and revisions from. Output: the findings.
 * src/crd-compat compares definitions; it runs in a separate thread, so that other requests do not wait.
 */
export { approvalsGate, approvalVerbGate, stampApproval } from '../approvals/gate.ts';
export { type Comparers, startComparers } from './comparison-pool.ts';
export { type CrdGateOptions, crdGate, type Environment } from './gate.ts';
export { crdMetrics } from './metrics.ts';
