/** Maps errors of the status API to problem details. */
import { Problem, retryAfter } from '../../runtime/internal.ts';
import { IdentityError } from '../identity/index.ts';

/** Maps an identity error as RFC 6750 requires. */
function problemOfIdentity({ reason, message }: IdentityError): Problem {
  if (reason === 'keys-unavailable') return new Problem(503, reason, message, { headers: retryAfter(5000) });
  const isScope = reason === 'missing-scope';
  const challenge = `Bearer realm="kidp", error="${isScope ? 'insufficient_scope' : 'invalid_token'}"`;
  return new Problem(isScope ? 403 : 401, reason, message, { headers: { 'www-authenticate': challenge } });
}

/** Maps any error to a problem; undefined for an internal error. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (error instanceof IdentityError) return problemOfIdentity(error);
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem(413, 'oversized', 'the body is larger than 1 MiB: send smaller batches');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupported();
    default:
  }
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return undefined;
  return new Problem(statusCode, 'malformed', 'the request cannot be parsed');
}

export const unsupported = (): Problem =>
  new Problem(
    415,
    'unsupported',
    'send application/cloudevents+json, application/cloudevents-batch+json or application/json, in UTF-8 and not compressed',
  );
