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
} from '../../runtime/index.ts';
export {
  type EventCause,
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
  type EventOf,
  type EventProblem,
  MOST_EVENT_BYTES,
  type ReadResult,
  readEvent,
} from './read.ts';
export type { JsonSchema } from './schema-parts.ts';
export { type EventDefinition, type EventKind, eventDefinitions, eventKinds } from './schemas.ts';
export { type Parsed, parseStrictly } from './strict-json.ts';
