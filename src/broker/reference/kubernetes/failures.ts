/** Maps errors of the API server to failures: permanent, quota, or none (the error is retried). */
import { ApiError, isConflict } from '../../../runtime/index.ts';
import type { ErrorClass } from '../../messages.ts';
import { ProviderFailure } from '../provider.ts';

/** The failure of an error; the error itself if a retry may help. */
export function failureOf(error: unknown, doing: string): unknown {
  if (!(error instanceof ApiError) || isConflict(error)) return error;
  const { status, message } = error;
  const failure = (failure: ErrorClass, code: string) =>
    new ProviderFailure({ class: failure, code, message: `${doing}: ${message}`, cause: error });
  if (isQuota(message)) return failure('quota', 'quota-exceeded');
  // A namespace that is being deleted may come back: no spec is wrong.
  if (/being terminated/.test(message)) return error;
  if (status === 400 || status === 422) return failure('permanent', 'invalid');
  // A quota that is not computed yet, and an API server that has just started and has not loaded RBAC, both pass. A
  // missing permission passes once it is granted. So these are reported as transient, and the platform retries with
  // backoff.
  if (status === 403 && /status unknown for quota/.test(message)) return failure('transient', 'quota-unknown');
  if (status === 403 && isMissingPermission(message)) return failure('transient', 'not-permitted');
  if (status === 403) return failure('permanent', 'forbidden');
  return error;
}

/** Whether the user lacks a permission, as opposed to a denial by admission. */
const isMissingPermission = (message: string): boolean => / is forbidden: User "[^"]*" cannot /.test(message);

/** Whether a message of the API server or of a workload controller is about a quota. */
export const isQuota = (message: string): boolean =>
  /exceeded quota|quota.*exceeded|maximum .* usage per/i.test(message);
