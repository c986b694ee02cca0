/**
 * The contract between platform and brokers: what an event looks like.
 *
 * In: bytes of anybody. Out: an event that is as its published schema says, or what is wrong with it. It must not know who sent
 * them (identity does) nor what an event leads to.
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
  subjectOf,
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
