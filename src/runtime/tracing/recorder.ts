/** `recordingTracer` passes each ended span to a callback. */
import type { Clock } from '../clock.ts';
import { withTraceparent } from './context.ts';
import type { EndedSpan } from './otlp-spans.ts';
import { childTraceparent, formatTraceparent, parseTraceparent } from './traceparent.ts';
import type { PastSpan, SpanAttributes, SpanOptions, Tracer } from './tracer.ts';

/** The limit of events per span; later ones are left out. */
const mostEvents = 128;

export function recordingTracer(clock: Clock, ended: (span: EndedSpan) => void): Tracer {
  return {
    async span(name, options: SpanOptions, run) {
      const parent = parseTraceparent(options.parent);
      const own = parseTraceparent(childTraceparent(options.parent));
      // The start of the trace decided not to sample it; the context is still passed on.
      if (own === undefined || !own.sampled) return run({ traceparent: options.parent ?? '', set() {}, event() {} });
      const traceparent = formatTraceparent(own);
      const start = clock.now();
      const began = clock.monotonic();
      const at = () => start + clock.monotonic() - began;
      const attributes: Record<string, string | number | boolean> = { ...options.attributes };
      const events: EndedSpan['events'][number][] = [];
      const end = (failure?: string) =>
        ended({
          name,
          traceId: own.traceId,
          spanId: own.parentId,
          parentId: parent?.parentId,
          start,
          end: at(),
          attributes,
          events,
          links: options.links ?? [],
          failure,
        });
      const span = {
        traceparent,
        set: (more: SpanAttributes) => void Object.assign(attributes, more),
        event(what: string, more: SpanAttributes = {}) {
          if (events.length < mostEvents) events.push({ name: what, at: at(), attributes: more });
        },
      };
      try {
        const result = await withTraceparent(traceparent, () => run(span));
        end();
        return result;
      } catch (error) {
        end(failureOf(error));
        throw error;
      }
    },
    begin: childTraceparent,
    past(name, { traceparent, parent, attributes = {}, startedAt, endedAt, failure }: PastSpan) {
      const own = parseTraceparent(traceparent);
      if (own === undefined || !own.sampled) return;
      const { traceId, parentId: spanId } = own;
      const above = parseTraceparent(parent);
      ended({
        name,
        traceId,
        spanId,
        parentId: above?.traceId === traceId ? above.parentId : undefined,
        start: startedAt,
        end: endedAt,
        attributes,
        events: [],
        links: [],
        failure,
      });
    },
  };
}

/** Our errors have a code and no secrets in their message; of other errors only the name is recorded. */
function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed';
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' && code.includes('/') ? `${code}: ${error.message}` : error.name;
}
