/**
 * The contract between platform and brokers: the format of events.
 *
 * In: bytes from anywhere. Out: an event that conforms to its published schema, or the problem with it. This module
 * does not know who sent the bytes (identity does) or what an event leads to.
 */
export {
  childTraceparent,
  formatTraceparent,
  newTraceparent,
  parseTraceparent,
  type TraceParent,
} from '../../runtime/internal.ts';
export {
  encodeEvent,
  heartbeatEvent,
  requestEvent,
  statusEvent,
  usageEvent,
} from './build.ts';
export {
  brokerEventKinds,
  brokerNamedIn,
  type EventProblem,
  MAX_EVENT_BYTES,
  readEvent,
} from './read.ts';
export type { JsonSchema } from './schema-parts.ts';
export { type EventKind, eventDefinitions, eventKinds } from './schemas.ts';
