/**
 * Maps errors to responses. Errors that the caller can fix are 4xx and name the field; all others are 5xx without
 * details.
 */
import { FleetError } from '../fleet/index.ts';
import { ApiError, ConfigError, ConnectionError } from '../runtime/index.ts';
import { Problem, retryAfter } from '../runtime/internal.ts';

export interface FieldError {
  /** A JSON Pointer into the body, or the name of a parameter. */
  readonly path: string;
  readonly message: string;
}

/** `invalid` reports bad input: nothing was changed. */
export const invalid = (errors: readonly FieldError[], detail?: string): Problem =>
  new Problem(400, 'invalid', detail ?? errors.map(({ path, message }) => `${path} ${message}`).join('; '), {
    more: { errors },
  });

export const notFound = (what: string, name: string): Problem =>
  new Problem(404, 'not-found', `${what} "${name}" not found`);

/** `problemOf` maps any thrown error; undefined means a bug in the platform. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (error instanceof ApiError) return problemOfApi(error);
  if (error instanceof FleetError) return problemOfFleet(error);
  if (error instanceof ConnectionError || error instanceof ConfigError || isOverdue(error)) return unavailable();
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem(413, 'oversized', 'the body is larger than 2 MiB');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return unsupported();
    default:
  }
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500) return undefined;
  return new Problem(statusCode, 'malformed', 'the request is malformed');
}

/** Recognizes the reasons of an AbortSignal: the request timed out, or the caller disconnected. */
const isOverdue = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');

export const unsupported = (): Problem =>
  new Problem(415, 'unsupported', 'unsupported content type: send uncompressed application/json in UTF-8');

export const unavailable = (): Problem =>
  new Problem(503, 'unavailable', 'the platform is temporarily unavailable: try again', { headers: retryAfter(2000) });

function problemOfApi(error: ApiError): Problem {
  const { status, reason, details } = error;
  const message = withoutDoing(error.message);
  const errors = (details.causes ?? [])
    .filter(({ field }) => field !== undefined && field !== '' && field !== '<nil>')
    .map(({ field = '', message: why = '' }) => ({ path: pointerOf(field), message: why }));
  const more = errors.length === 0 ? {} : { more: { errors } };
  // The API server rejected the identity of the platform, or its right to impersonate: not an error of the caller.
  if (status === 401 || (status === 403 && / cannot impersonate /.test(message))) return unavailable();
  switch (status) {
    case 400:
    case 422:
      return new Problem(400, 'invalid', message, more);
    case 403:
      return new Problem(403, message.includes('denied the request') ? 'denied' : 'forbidden', message, more);
    case 404:
      return new Problem(404, 'not-found', message);
    case 409:
      return new Problem(409, reason === 'AlreadyExists' ? 'exists' : 'conflict', message);
    case 410:
      return new Problem(410, 'expired', 'the `continue` token has expired: start again without `continue`');
    case 413:
      return new Problem(413, 'oversized', 'the object is too large to be stored');
    default:
      return unavailable();
  }
}

/** Strips the description of our own request from a Kubernetes message. */
const withoutDoing = (message: string): string =>
  message.replace(/^(write|[a-z]+ [a-z.]+(\/[a-z]+)?( in)?( [^ :]+)?): /, '').slice(0, 4096);

/**
 * `pointerOf` converts a Kubernetes field path such as `spec.chart.repository`, `spec.versions[0].version` or
 * `metadata.labels[example.com/team]` to a JSON Pointer into the body.
 */
export function pointerOf(field: string): string {
  const parts = [...field.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([part, key = part]) => key);
  if (parts[0] === 'spec' || parts[0] === 'metadata') parts.shift();
  return `/${parts.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;
}

/** Messages of a `FleetError` contain no secrets. */
function problemOfFleet({ code, message, temporary }: FleetError): Problem {
  const [family] = code.split('/', 1);
  if (family === 'helm' || family === 'snapshot') return unavailable();
  const path = family === 'chart' ? '/chart' : '/kubeconfig';
  const errors = [{ path, message }];
  return new Problem(400, code.replace('/', '-'), message, { more: { errors, temporary } });
}
