/** The span of a request: it goes on from what the caller says, and lasts until the answer is sent or nobody waits for it any more. */
import type { FastifyReply } from 'fastify';
import type { Tracer } from '../runtime/index.ts';
import { childTraceparent, parseTraceparent } from '../runtime/internal.ts';

interface RequestSpan {
  /** For whoever is asked on behalf of this request; also where nothing is recorded. */
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

/** Tells the span that it went wrong; why is in the log. */
class Unanswered extends Error {
  readonly code = 'rest/unanswered';

  constructor(status: number) {
    super(`it was answered with ${status}`);
    this.name = 'Unanswered';
  }
}
