/**
 * Controllers: from changes of objects to calls of a reconciler.
 *
 * In: a manager, resources to watch, a reconciler. Out: the reconciler is called for each key that changed, never twice at a time for
 * one key, and again with backoff after a failure. It must not know what is reconciled.
 */
export { type ControllerBuilder, controllerManagedBy } from './builder.ts';
export type { Caches, Selection } from './caches.ts';
export { Controller, type ControllerOptions } from './controller.ts';
export type { Mapper } from './mappers.ts';
export {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelled,
  labelsChanged,
  not,
  type Predicate,
  resourceVersionChanged,
} from './predicates.ts';
export { liveReader, type Reader } from './reader.ts';
export { type Reconcile, type ReconcileContext, type Request, type Result, TerminalError } from './reconcile.ts';
