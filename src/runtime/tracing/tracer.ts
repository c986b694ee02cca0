/** The tracing interface: code that is traced knows only this. */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

interface Span {
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

/** A span that has ended, recorded in one call. Times are milliseconds since 1970. */
export interface PastSpan {
  /** What `begin` has given. */
  readonly traceparent: string;
  /** What `begin` was given. One of another trace is none. */
  readonly parent?: string;
  readonly attributes?: SpanAttributes;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why it went wrong; left out where it went well. */
  readonly failure?: string;
}

export interface Tracer {
  /** The span lasts as long as the work; where that rejects, the span says so. */
  span<T>(name: string, options: SpanOptions, run: (span: Span) => Promise<T>): Promise<T>;
  /**
   * A span that may outlive this process, in the trace of `parent` or in one that it begins: what belongs to it names this as its parent,
   * and the process that ends it records it with `past`. Empty if nothing is traced. Optional for tracers without such spans.
   */
  begin?(parent?: string): string;
  past?(name: string, span: PastSpan): void;
}

/** Passes on the trace that the work belongs to, and records nothing. */
export const noTracer: Tracer = {
  span: (_name, { parent = '' }, run) => run({ traceparent: parent, set() {}, event() {} }),
};
