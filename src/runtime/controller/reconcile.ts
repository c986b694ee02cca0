/** What a reconciler is given and what it gives back. */
import type { Client } from '../client/client.ts';
import type { ObjectKey } from '../objects/object.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Reader } from './reader.ts';

/** Only a name: a reconciler is level-triggered and reads the world anew, whatever it was that changed. */
export type Request = ObjectKey;

/** Nothing: done until something changes. Otherwise: come again after so long, even if nothing does. */
export type Result = undefined | { readonly requeueAfterMilliseconds: number };

export interface ReconcileContext {
  /** The API server. Ends with `signal`, and where the controller leads, its writes are fenced. */
  readonly client: Client;
  /** The cache, which may be a moment behind, and the API server where asked for. */
  readonly read: Reader;
  readonly log: Logger;
  /** Aborted when the time is up, the controller has to stop, or leadership is lost. */
  readonly signal: AbortSignal;
  /** How often this key has failed in a row. */
  readonly failures: number;
}

/**
 * Brings the world closer to what the object says. Never called for one key twice at a time. What it throws is logged and tried
 * again with backoff; a `TerminalError` is not tried again until something changes.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: most reconcilers are async functions that return nothing
export type Reconcile = (request: Request, context: ReconcileContext) => Promise<Result | void>;

/** No use trying again: the object itself has to change. */
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
