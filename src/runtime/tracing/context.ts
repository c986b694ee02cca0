/** The span that something is done in, wherever it is done: requests to API servers carry it on, lines of the log name its trace. */
import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<string>();

/** W3C trace context of the work that this is part of; undefined where nothing is traced. */
export const currentTraceparent = (): string | undefined => current.getStore();

export const currentTraceId = (): string | undefined => current.getStore()?.split('-')[1];

export const withTraceparent = <T>(traceparent: string, run: () => T): T =>
  traceparent === '' ? run() : current.run(traceparent, run);
