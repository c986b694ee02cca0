/**
 * The namespaces gate. A cluster deletes everything in a deleted Namespace, whatever rules apply to the deletion of a
 * single object: provisioned resources, including data, could be removed before the platform object is.
 *
 * Input: a request, and the cluster to read platform objects from. Output: the findings. Other operations on Namespaces
 * are not checked here.
 */
export { namespaceGate } from './gate.ts';
