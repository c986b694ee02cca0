/** Spans in the JSON of OTLP (opentelemetry-proto, `ExportTraceServiceRequest`): ids in hexadecimal, 64-bit numbers as text. */
import { parseTraceparent } from './traceparent.ts';
import type { SpanAttributes } from './tracer.ts';

/** A span that has ended, as it is kept until it is sent. */
export interface EndedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  /** Milliseconds since 1970, with fractions. */
  readonly start: number;
  readonly end: number;
  readonly attributes: SpanAttributes;
  readonly events: readonly { readonly name: string; readonly at: number; readonly attributes: SpanAttributes }[];
  readonly links: readonly string[];
  readonly failure: string | undefined;
}

export interface Resource {
  /** For example `service.name`. */
  readonly attributes: SpanAttributes;
}

const scope = { name: 'kidp' };
/** SPAN_KIND_INTERNAL; STATUS_CODE_ERROR. */
const internal = 1;
const failed = 2;

export const traceRequest = (spans: readonly EndedSpan[], { attributes }: Resource) => ({
  resourceSpans: [
    { resource: { attributes: attributesOf(attributes) }, scopeSpans: [{ scope, spans: spans.map(spanOf) }] },
  ],
});

function spanOf(span: EndedSpan) {
  const { traceId, spanId, parentId, name, failure } = span;
  return {
    traceId,
    spanId,
    ...(parentId === undefined ? {} : { parentSpanId: parentId }),
    name,
    kind: internal,
    startTimeUnixNano: nanoseconds(span.start),
    endTimeUnixNano: nanoseconds(Math.max(span.start, span.end)),
    attributes: attributesOf(span.attributes),
    events: span.events.map((event) => ({
      timeUnixNano: nanoseconds(event.at),
      name: event.name,
      attributes: attributesOf(event.attributes),
    })),
    links: span.links.flatMap((link) => {
      const parsed = parseTraceparent(link);
      return parsed === undefined ? [] : [{ traceId: parsed.traceId, spanId: parsed.parentId }];
    }),
    status: failure === undefined ? {} : { code: failed, message: cut(failure) },
  };
}

export const attributesOf = (attributes: SpanAttributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));

function anyValue(value: string | number | boolean) {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'string') return { stringValue: cut(value) };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

const longest = 1024;
const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);

/** Beyond what a number holds exactly: milliseconds and what is less are put together as text. */
export function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1_000_000)));
}
