/**
 * What controller-runtime is to Go: everything a controller needs between itself and a Kubernetes API server.
 *
 * In: a kubeconfig (or the pod's service account), resources named by group, version and plural.
 * Out: a `Client`, caches kept up to date by reflectors, and what stands on them.
 * It must not know: any kind of ours, policies, CEL, or who uses it.
 */

export * from './backoff.ts';
export * from './bound-client.ts';
export * from './certificates/index.ts';
export * from './client.ts';
export { type Clock, sleep, systemClock } from './clock.ts';
export * from './conditions.ts';
export * from './controller/index.ts';
export * from './core-resources.ts';
export * from './discovery.ts';
export * from './errors.ts';
export { type EventInput, events } from './event-object.ts';
export * from './events.ts';
export * from './finalizers.ts';
export * from './kubeconfig.ts';
export * from './leader/election.ts';
export * from './leader/fence.ts';
export * from './leader/lease.ts';
export * from './logger.ts';
export * from './manager.ts';
export * from './metrics.ts';
export * from './object.ts';
export * from './owner.ts';
export * from './pages.ts';
export * from './reflector/index.ts';
export * from './serving/index.ts';
export * from './spare-memory.ts';
export * from './store.ts';
export * from './testing.ts';
export * from './tracing/index.ts';
export * from './transport/index.ts';
export * from './workqueue.ts';
