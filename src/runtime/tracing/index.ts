/**
 * Spans: what was done, when, how long it took and as part of what; and where they go, metrics beside them.
 *
 * In: names, attributes and the work itself, and a registry of metrics. Out: OTLP over HTTP for whoever collects it. It must not know
 * what is done.
 */
export * from './context.ts';
export * from './telemetry.ts';
export * from './traceparent.ts';
export * from './tracer.ts';
