/**
 * HTTP/1.1 for a client of an API server: pools of reusable connections, requests of known length, answers of any
 * length.
 *
 * In: sockets and requests. Out: answers while they are received. It must not know Kubernetes, credentials or retries.
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
