/** Converts the bytes of an answer to an object, a typed error or warnings. */
import { ApiError, ConnectionError, type StatusDetails } from '../errors.ts';
import type { Answer, HeaderValues } from './exchange.ts';

/**
 * Parses the bytes without classes, so that no field is dropped and nothing keeps the page alive (V8 copies each
 * string).
 */
export function parseObject<T>(doing: string, answer: Answer): T {
  try {
    return JSON.parse(answer.body.toString('utf8')) as T;
  } catch (cause) {
    throw new ConnectionError({
      doing,
      failure: 'other',
      message: `the answer (status ${answer.status}) is not JSON: ${excerpt(answer.body)}`,
      hint: 'Check that the address is that of a Kubernetes API server, with no other proxy in front',
      cause,
    });
  }
}

interface Status {
  kind?: string;
  message?: string;
  reason?: string;
  details?: StatusDetails;
}

/**
 * Converts an error answer to an `ApiError`. A body that is not a metav1.Status (of a proxy, a plain 404) still yields
 * a clear error.
 */
export function statusError(doing: string, answer: Answer, advice?: string): ApiError {
  let status: Status = {};
  try {
    const parsed: unknown = JSON.parse(answer.body.toString('utf8'));
    if (typeof parsed === 'object' && parsed !== null) status = parsed as Status;
  } catch {
    // Not JSON: the excerpt below replaces the message.
  }
  const reason =
    status.reason !== undefined && status.reason !== '' ? status.reason : (reasons[answer.status] ?? 'Unknown');
  const message = status.message ?? (answer.body.length === 0 ? `status ${answer.status}` : excerpt(answer.body));
  return new ApiError({
    doing,
    status: answer.status,
    reason,
    message: [message, advice ?? lackOfRights(answer.status, message)].filter((part) => part !== undefined).join(': '),
    ...(status.details === undefined ? {} : { details: status.details }),
    retryAfterSeconds: retryAfterSeconds(answer.headers),
  });
}

/**
 * Returns the advice for a user who lacks a permission, detected by the message of the Kubernetes authorizer. Undefined
 * for other denials: admission and quotas give their own reasons.
 */
function lackOfRights(status: number, message: string): string | undefined {
  const found =
    / cannot (?<verb>\S+) resource "(?<resource>[^"/]+)(?:\/(?<subresource>[^"]+))?" in API group "(?<group>[^"]*)"(?: in the namespace "(?<namespace>[^"]+)")?/.exec(
      message,
    )?.groups;
  if (status !== 403 || found === undefined) return undefined;
  const { verb, resource, subresource, group, namespace } = found;
  const kind = group === '' ? resource : `${resource}.${group}`;
  const flags = [
    ...(subresource === undefined ? [] : [` --subresource=${subresource}`]),
    ...(namespace === undefined ? [] : [` -n ${namespace}`]),
  ].join('');
  return `ask an administrator for that right, "kubectl auth can-i ${verb} ${kind}${flags}" shows when you have it`;
}

/** Parses Retry-After, which is a number of seconds or an HTTP date. */
export function retryAfterSeconds(headers: HeaderValues, now = Date.now()): number | undefined {
  const value = headers['retry-after'];
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** Returns the texts of warnings: `299 - "text"`, several in one header or in several headers (RFC 7234, 5.5). */
export function warningsOf(headers: HeaderValues): string[] {
  const value = headers.warning;
  if (value === undefined) return [];
  const warnings: string[] = [];
  for (const header of Array.isArray(value) ? value : [value]) {
    for (const match of header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)) {
      warnings.push((match[1] ?? '').replaceAll(/\\(.)/g, '$1'));
    }
  }
  return warnings;
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function excerpt(body: Buffer): string {
  const text = body.toString('utf8', 0, 400).replaceAll(/\s+/g, ' ').trim();
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
