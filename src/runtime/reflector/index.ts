/**
 * Caches: a copy of the objects of a resource that stays up to date through every failure of an API server and a network.
 *
 * In: a `Client` and a selection of objects. Out: a `Store`, and calls to handlers, one at a time, in the order of events.
 * It must not know what the objects are for.
 */
export type { ReflectorHandlers, ReflectorObserver, ReflectorOptions, ReflectorStatus } from './options.ts';
export { Reflector } from './reflector.ts';
export type { IndexFunction, ReadonlyStore } from './store.ts';
