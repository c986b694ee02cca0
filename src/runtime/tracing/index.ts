/**
 * Traces: spans with their parents and attributes, and the export of spans and metrics over OTLP.
 *
 * In: names, attributes, the traced work, and a registry of metrics. Out: OTLP over HTTP for a collector. It must not know what the
 * traced work is.
 */
export { currentTraceId, currentTraceparent, withTraceparent } from './context.ts';
export { type TelemetrySettings, telemetrySettings } from './settings.ts';
export { startTelemetry } from './telemetry.ts';
export {
  childTraceparent,
  formatTraceparent,
  newTraceparent,
  parseTraceparent,
  type TraceParent,
} from './traceparent.ts';
export { noTracer, type PastSpan, type SpanAttributes, type SpanOptions, type Tracer } from './tracer.ts';
