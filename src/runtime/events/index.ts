/**
 * Events: what `kubectl describe` shows about an object.
 *
 * In: an object, a reason and a message. Out: Events in the cluster, deduplicated and bounded in rate. It must not know which
 * controller records them.
 */
export { type EventInput, events } from './event-object.ts';
export { EventRecorder } from './recorder.ts';
