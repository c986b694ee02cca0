/** What a refusal of the API server means for whoever asked: only another spec will do, make room, or nothing (it is tried again). */
import { ApiError, isConflict } from '../../../runtime/index.ts';
import { ProviderFailure } from '../provider.ts';

/** The failure that an error comes to; the error itself where trying again may help. */
export function failureOf(error: unknown, doing: string): unknown {
  if (!(error instanceof ApiError) || isConflict(error)) return error;
  const { status, message } = error;
  const told = (failure: 'quota' | 'permanent', code: string) =>
    new ProviderFailure({ class: failure, code, message: `${doing}: ${message}`, cause: error });
  if (isQuota(message)) return told('quota', 'quota-exceeded');
  // A namespace on its way out comes back, or does not: nobody's spec is wrong.
  if (/being terminated/.test(message)) return error;
  if (status === 400 || status === 422) return told('permanent', 'invalid');
  if (status === 403) return told('permanent', 'forbidden');
  return error;
}

/** Of the API server itself, and of the controllers that make pods. */
export const isQuota = (message: string): boolean =>
  /exceeded quota|quota.*exceeded|maximum .* usage per/i.test(message);
