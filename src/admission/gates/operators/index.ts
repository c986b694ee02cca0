/**
 * What is asked of Operators, OperatorDeployments and their Approvals when they are applied (requirement 002).
 *
 * In: a request, and the management cluster to read Operators and Clusters from. Out: what the gate finds, and who asked. It calls no other
 * cluster and no repository of charts: what their reconcilers have written into a status is all that it knows of them.
 */

export { rolesIn } from '../approvals/roles.ts';
export { operatorsGate } from './gate.ts';
export { requesterGate, stampRequester } from './requester.ts';
