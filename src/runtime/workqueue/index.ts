/**
 * The workqueue: keys that wait to be worked on, each at most once, with backoff after failures.
 *
 * In: keys. Out: keys, when they are due. It must not know what a key stands for.
 */
export { TokenBucket } from './backoff.ts';
export { Workqueue, type WorkqueueOptions } from './workqueue.ts';
