/**
 * The operators gate: checks Operators, OperatorDeployments and their Approvals (docs/requirements.md, 002).
 *
 * Input: a request, and the management cluster to read Operators and Clusters from. Output: the findings, and the
 * requester of a rollout. It calls no other cluster and no chart repository: it uses only what reconcilers have written
 * to statuses.
 */

export { rolesIn } from '../approvals/roles.ts';
export { operatorsGate } from './gate.ts';
export { requesterGate, stampRequester } from './requester.ts';
