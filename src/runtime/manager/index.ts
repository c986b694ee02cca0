/**
 * The manager: starts, supervises and stops the controllers and other runnables of a process together.
 *
 * In: runnables and health checks. Out: a process that serves until it is stopped or fails. It must not know what the runnables do.
 */
export { type HealthCheck, Manager, type ManagerOptions, type Runnable, stopSignal } from './manager.ts';
export { giveMemoryBack } from './spare-memory.ts';
