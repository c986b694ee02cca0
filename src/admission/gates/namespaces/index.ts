/**
 * The namespaces gate. A cluster deletes everything in a deleted Namespace, whatever rules apply to the deletion of a
 * single object: provisioned resources, including data, could be removed before the platform object is.
 *
 * Input: a request, and the cluster to read platform objects from. Output: the findings. Of other operations on
 * Namespaces, only changes of the team label are checked.
 */
export { namespaceGate } from './gate.ts';
export { namespaceLabelGate } from './label-gate.ts';
