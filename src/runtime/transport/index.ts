/**
 * The HTTP side of the runtime: converts calls in the resource model to requests, and answers to objects or typed
 * errors.
 *
 * In: a `ClusterConfig`. Out: a `Client`. It must not know caches, queues or controllers.
 */
export { type ConnectOptions, connect } from './connect.ts';
export type { Budgets } from './connections.ts';
export { resourcePath } from './paths.ts';
export { ConnectionBudget } from './wire/index.ts';
