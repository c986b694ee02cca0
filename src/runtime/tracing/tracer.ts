/** What is told of work under way, as spans of OpenTelemetry: those who work know only this. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** W3C trace context, for whoever is asked next. Empty where nothing is traced. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  event(name: string, attributes?: SpanAttributes): void;
}

export interface SpanOptions {
  readonly attributes?: SpanAttributes;
  /** A traceparent. Without it, a trace begins. */
  readonly parent?: string;
  /** Other traces that have to do with it, each by a traceparent. */
  readonly links?: readonly string[];
}

export interface Tracer {
  /** The span lasts as long as the work; where that rejects, the span says so. */
  span<T>(name: string, options: SpanOptions, run: (span: Span) => Promise<T>): Promise<T>;
}

/** Passes on the trace that the work belongs to, and records nothing. */
export const noTracer: Tracer = {
  span: (_name, { parent = '' }, run) => run({ traceparent: parent, set() {}, event() {} }),
};
