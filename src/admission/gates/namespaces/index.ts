/**
 * The deletion of Namespaces. A cluster deletes all that is in one, whatever anybody has said about the deletion of a single object in
 * it: what a broker has made there, data included, is gone before the platform's object is.
 *
 * In: a request, the cluster to read objects of the platform from. Out: what the gate finds. Nothing else about Namespaces is its to judge.
 */
export { namespaceGate } from './gate.ts';
