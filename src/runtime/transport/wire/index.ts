/**
 * HTTP/1.1 as a client of an API server needs it: pools of connections that are used again, requests of known length, answers of any.
 *
 * In: sockets and requests. Out: answers as they come. It must not know Kubernetes, credentials or retries.
 */
export { ConnectionBudget } from './budget.ts';
export type {
  AnswerHandler,
  Dispatcher,
  Flow,
  HeaderValues,
  HeldHandler,
  HeldRequest,
  HoldingDispatcher,
  WireRequest,
} from './dispatcher.ts';
export { Pool } from './pool.ts';
