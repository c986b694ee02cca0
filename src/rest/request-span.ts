/**
 * The span of a request: a child of the caller's trace context that ends when the response is sent or the caller
 * disconnects.
 */
import type { FastifyReply } from 'fastify';
import type { Tracer } from '../runtime/index.ts';
import { childTraceparent, parseTraceparent } from '../runtime/internal.ts';

interface RequestSpan {
  /** Trace context for requests made on behalf of this one, also if no spans are recorded. */
  readonly traceparent: string;
}

export function spanOf(
  tracer: Tracer,
  { method, path, operationId }: { readonly method: string; readonly path: string; readonly operationId: string },
  from: string | undefined,
  reply: FastifyReply,
): RequestSpan {
  const attributes = { 'http.request.method': method, 'http.route': path, 'kidp.operation': operationId };
  const parent = parseTraceparent(from) === undefined ? {} : { parent: from as string };
  let traceparent = '';
  void tracer
    .span(`${method} ${path}`, { attributes, ...parent }, (span) => {
      traceparent = span.traceparent;
      return new Promise<void>((resolve, reject) => {
        reply.raw.once('close', () => {
          span.set({ 'http.response.status_code': reply.statusCode });
          if (reply.statusCode < 500) resolve();
          else reject(new Unanswered(reply.statusCode));
        });
      });
    })
    .catch(() => undefined);
  return { traceparent: traceparent === '' || traceparent === from ? childTraceparent(from) : traceparent };
}

/** Marks the span as failed; the cause is in the log. */
class Unanswered extends Error {
  readonly code = 'rest/unanswered';

  constructor(status: number) {
    super(`response status ${status}`);
    this.name = 'Unanswered';
  }
}
