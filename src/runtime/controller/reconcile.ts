/** The input and output of a reconciler. */
import type { Client } from '../client/client.ts';
import type { ObjectKey } from '../objects/object.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Reader } from './reader.ts';

/** A request contains only a key: a reconciler is level-triggered and reads the current state, whatever has changed. */
export type Request = ObjectKey;

/** Undefined means done until the next change. Otherwise the key is requeued after this time. */
export type Result = undefined | { readonly requeueAfterMilliseconds: number };

export interface ReconcileContext {
  /** A client whose requests end with `signal`. In a leader, its writes are fenced. */
  readonly client: Client;
  /** Reads from the cache, which may be slightly stale, or on request from the API server. */
  readonly read: Reader;
  readonly log: Logger;
  /** Aborted on timeout, when the controller stops, or when leadership is lost. */
  readonly signal: AbortSignal;
  /** The number of consecutive failures of this key. */
  readonly failures: number;
}

/**
 * A `Reconcile` function moves the actual state towards the desired state of an object. It never runs twice at a time for one key. An
 * error is logged and the key is requeued with backoff; after a `TerminalError` it is not retried until something changes.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most reconcilers are async functions that return nothing
export type Reconcile = (request: Request, context: ReconcileContext) => Promise<Result | void>;

/** An error that a retry cannot fix: the object itself has to change. */
export class TerminalError extends Error {
  readonly code = 'reconcile/terminal';

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'TerminalError';
  }
}

export class ReconcileTimeoutError extends Error {
  readonly code = 'reconcile/timeout';
  readonly hint = 'Pass context.signal to whatever takes long, or allow more time';

  constructor(milliseconds: number) {
    super(`the reconcile did not end within ${milliseconds} ms`);
    this.name = 'ReconcileTimeoutError';
  }
}
