/** Failures of the runtime: each carries a stable code, what was being done, and what the user can do next. */

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

/** The API server answered with an error. `reason` is the metav1.Status reason (`NotFound`, `Conflict` …). */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly reason: string;
  readonly details: StatusDetails;
  readonly retryAfterSeconds: number | undefined;

  constructor(input: {
    doing: string;
    status: number;
    reason: string;
    message: string;
    details?: StatusDetails;
    retryAfterSeconds?: number | undefined;
  }) {
    super(`${input.doing}: ${input.message}`);
    this.name = 'ApiError';
    this.code = `api/${input.reason}`;
    this.status = input.status;
    this.reason = input.reason;
    this.details = input.details ?? {};
    this.retryAfterSeconds = input.retryAfterSeconds ?? input.details?.retryAfterSeconds;
  }
}

export type ConnectionFailure =
  | 'refused'
  | 'unresolved'
  | 'timeout'
  | 'reset'
  | 'certificate-expired'
  | 'certificate-untrusted'
  | 'certificate-name'
  | 'aborted'
  | 'too-large'
  | 'other';

/** There was no answer. `failure` says why; `hint` says what to do next. */
export class ConnectionError extends Error {
  readonly code: string;
  readonly failure: ConnectionFailure;
  readonly hint: string;

  constructor(input: { doing: string; failure: ConnectionFailure; message: string; hint: string; cause?: unknown }) {
    super(`${input.doing}: ${input.message}. ${input.hint}`, { cause: input.cause });
    this.name = 'ConnectionError';
    this.code = `connection/${input.failure}`;
    this.failure = input.failure;
    this.hint = input.hint;
  }
}

/** Input of the user (a kubeconfig, a flag, a file) is unusable. */
export class ConfigError extends Error {
  readonly code: string;
  readonly hint: string;

  constructor(input: { code: string; message: string; hint: string; cause?: unknown }) {
    super(`${input.message}. ${input.hint}`, { cause: input.cause });
    this.name = 'ConfigError';
    this.code = `config/${input.code}`;
    this.hint = input.hint;
  }
}

/** A write was not made because this process lost or gave up leadership. The server has not applied it. */
export class FenceError extends Error {
  readonly code = 'fence/lost';
  readonly hint = 'Another replica is or becomes the leader; exit and restart this process';

  constructor(why: string) {
    super(why);
    this.name = 'FenceError';
  }
}

export const isNotFound = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 404;
export const isConflict = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 409 && error.reason === 'Conflict';
export const isAlreadyExists = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';
/** The requested resourceVersion is no longer in the server's history: list again. */
export const isGone = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone');
export const isForbidden = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 403;
export const isTooManyRequests = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 429;
