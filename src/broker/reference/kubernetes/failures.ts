/** What a refusal of the API server means for whoever asked: only another spec will do, make room, or nothing (it is tried again). */
import { ApiError, isConflict } from '../../../runtime/index.ts';
import type { ErrorClass } from '../../messages.ts';
import { ProviderFailure } from '../provider.ts';

/** The failure that an error comes to; the error itself where trying again may help. */
export function failureOf(error: unknown, doing: string): unknown {
  if (!(error instanceof ApiError) || isConflict(error)) return error;
  const { status, message } = error;
  const failure = (failure: ErrorClass, code: string) =>
    new ProviderFailure({ class: failure, code, message: `${doing}: ${message}`, cause: error });
  if (isQuota(message)) return failure('quota', 'quota-exceeded');
  // A namespace on its way out comes back, or does not: nobody's spec is wrong.
  if (/being terminated/.test(message)) return error;
  if (status === 400 || status === 422) return failure('permanent', 'invalid');
  // A quota that nobody has counted yet, and an API server that has just started and does not know what anybody may do: both pass. That
  // this broker is not allowed to do it passes when somebody allows it. So it is told, and the platform tries again, later and later.
  if (status === 403 && /status unknown for quota/.test(message)) return failure('transient', 'quota-unknown');
  if (status === 403 && isMissingPermission(message)) return failure('transient', 'not-permitted');
  if (status === 403) return failure('permanent', 'forbidden');
  return error;
}

/** Not of admission: what the API server says of somebody who lacks a right. */
const isMissingPermission = (message: string): boolean => / is forbidden: User "[^"]*" cannot /.test(message);

/** Of the API server itself, and of the controllers that make pods. */
export const isQuota = (message: string): boolean =>
  /exceeded quota|quota.*exceeded|maximum .* usage per/i.test(message);
