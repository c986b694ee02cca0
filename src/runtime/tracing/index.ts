/**
 * Spans: what was done, when, how long it took and as part of what.
 *
 * In: names, attributes and the work itself. Out: spans for whoever collects them. It must not know what is done.
 */
export * from './tracer.ts';
