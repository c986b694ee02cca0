/**
 * Controllers: from changes of objects to calls of a reconciler.
 *
 * In: a manager, resources to watch, a reconciler. Out: the reconciler is called for each key that changed, one at a time a key,
 * again with backoff where it failed. It must not know what is reconciled.
 */
export * from './builder.ts';
export * from './caches.ts';
export { Controller, type ControllerOptions } from './controller.ts';
export * from './mappers.ts';
export * from './predicates.ts';
export { type ListFrom, liveReader, type Reader, type ReadFrom } from './reader.ts';
export * from './reconcile.ts';
