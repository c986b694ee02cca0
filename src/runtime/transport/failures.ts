/** Converts errors of sockets, OpenSSL and undici to one sentence: what happened, and what the user can do next. */
import { X509Certificate } from 'node:crypto';
import { ConfigError, ConnectionError, type ConnectionFailure } from '../errors.ts';
import type { ClusterConfig } from '../kubeconfig/kubeconfig.ts';

export const sizeFailure = 'KIDP_RESPONSE_TOO_LARGE';

const failureByCode: Readonly<Record<string, ConnectionFailure>> = {
  [sizeFailure]: 'too-large',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ENOTFOUND: 'unresolved',
  EAI_AGAIN: 'unresolved',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  KIDP_CLOSED: 'aborted',
  UND_ERR_CLOSED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
  UND_ERR_ABORTED: 'aborted',
  CERT_HAS_EXPIRED: 'certificate-expired',
  CERT_NOT_YET_VALID: 'certificate-expired',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: 'certificate-expired',
  'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED': 'certificate-expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate-untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate-untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate-untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate-untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate-untrusted',
  CERT_SIGNATURE_FAILURE: 'certificate-untrusted',
  CERT_UNTRUSTED: 'certificate-untrusted',
  INVALID_CA: 'certificate-untrusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate-name',
};

/** Converts the cause of a missing answer to a `ConnectionError`. */
export function connectionError(doing: string, config: ClusterConfig, cause: unknown): ConnectionError | ConfigError {
  if (cause instanceof ConnectionError || cause instanceof ConfigError) return cause;
  const code = codeOf(cause);
  const failure = failureByCode[code] ?? 'other';
  const { message, hint } = explain(failure, config, cause, code);
  return new ConnectionError({ doing, failure, message, hint, cause });
}

export function timeoutError(doing: string, config: ClusterConfig, milliseconds: number): ConnectionError {
  return new ConnectionError({
    doing,
    failure: 'timeout',
    message: `${config.server} did not answer within ${milliseconds} ms`,
    hint: 'Check that it is reachable and not overloaded, or allow more time',
  });
}

export function abortError(doing: string, signal: AbortSignal): ConnectionError {
  return new ConnectionError({
    doing,
    failure: 'aborted',
    message: 'the caller gave up',
    hint: 'Nothing to do: this was asked for',
    cause: signal.reason,
  });
}

/**
 * Returns whether the connection was lost before the first byte of an answer: the server may have closed it while it
 * was idle.
 */
export function isReset(cause: unknown): boolean {
  return failureByCode[codeOf(cause)] === 'reset';
}

/** Returns whether connecting, or waiting for the answer, timed out. */
export function isTimeout(cause: unknown): boolean {
  return failureByCode[codeOf(cause)] === 'timeout';
}

/** Returns whether new certificates on disk could fix the failure. */
export function isDistrust(cause: unknown): boolean {
  const failure = failureByCode[codeOf(cause)];
  return failure === 'certificate-untrusted' || failure === 'certificate-expired';
}

/** Explains a 401 that is caused by an expired client certificate, which the server does not report. */
export function expiredClientCertificate(pem: string | undefined, now: Date): string | undefined {
  if (pem === undefined) return undefined;
  try {
    const { validToDate } = new X509Certificate(pem);
    return validToDate < now ? validToDate.toISOString() : undefined;
  } catch {
    return undefined;
  }
}

function codeOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null) return '';
  const { code, errors, cause: deeper } = cause as { code?: unknown; errors?: unknown[]; cause?: unknown };
  if (typeof code === 'string' && code in failureByCode) return code;
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors[0]);
  if (typeof code === 'string') return code;
  return deeper === undefined ? '' : codeOf(deeper);
}

function explain(
  failure: ConnectionFailure,
  config: ClusterConfig,
  cause: unknown,
  code: string,
): { message: string; hint: string } {
  const { server, source } = config;
  const detail = cause instanceof Error && cause.message !== '' ? cause.message : code;
  switch (failure) {
    case 'refused':
      return {
        message: `nothing answers at ${server} (${code})`,
        hint: `Check that the API server runs and that the address in ${source} is right`,
      };
    case 'unresolved':
      return {
        message: `the name in ${server} does not resolve (${code})`,
        hint: `Check DNS and the server address in ${source}`,
      };
    case 'timeout':
      return { message: `${server} did not answer in time`, hint: 'Check the network and firewalls on the way to it' };
    case 'reset':
      return { message: `${server} closed the connection (${detail})`, hint: 'Try again' };
    case 'certificate-expired':
      return {
        message: `the certificate of ${server} is expired or not yet valid (${code})`,
        hint: 'Renew it, or set this clock right',
      };
    case 'certificate-untrusted':
      return {
        message: `the certificate of ${server} is not signed by the CA we were given (${code})`,
        hint: `Put the right CA into ${source}`,
      };
    case 'certificate-name':
      return {
        message: `the certificate of ${server} is for another name (${detail})`,
        hint: `Use one of its names as the server address in ${source}, or set tls-server-name`,
      };
    case 'aborted':
      return { message: 'the client was closed', hint: 'Connect again' };
    case 'too-large':
      return { message: detail, hint: 'Ask for smaller pages with "limit", or raise maximumResponseBytes' };
    default:
      return { message: `the request failed (${detail})`, hint: `Check that ${server} is a Kubernetes API server` };
  }
}
