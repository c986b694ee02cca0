/**
 * Keeps a copy of a resource's objects and tells what changes, through everything an API server and a network can do.
 *
 * In: a `Client` and which objects. Out: a `Store`, and calls to handlers, one at a time, in the order of events.
 * It must not know what the objects are for.
 */
export type { ReflectorHandlers, ReflectorObserver, ReflectorOptions, ReflectorStatus } from './options.ts';
export { Reflector } from './reflector.ts';
