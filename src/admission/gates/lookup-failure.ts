/** Why a lookup failed, as a user may read it: the error itself can name internal addresses and files. */
import { ApiError, ConnectionError } from '../../runtime/index.ts';

export function lookupFailure(error: unknown): string {
  // The words of the API server are about the objects, not about the connection.
  if (error instanceof ApiError) return error.message;
  if (error instanceof ConnectionError) return `the API server did not answer (${error.failure})`;
  return 'the lookup failed';
}
