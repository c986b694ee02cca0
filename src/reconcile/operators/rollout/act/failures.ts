/**
 * Turns errors into messages for a status that many users may read: they never quote a chart or a server, whose text
 * may contain secrets.
 */
import { FleetError } from '../../../../fleet/index.ts';
import { ApiError, ConnectionError, FenceError } from '../../../../runtime/index.ts';
import type { Failure } from '../decide/outcomes.ts';

/** Codes of errors that a retry may resolve. */
const temporaryCodes = new Set(['cluster/unreachable', 'chart/unreachable']);

export function toFailure(error: unknown): Failure {
  if (error instanceof FleetError) {
    return { temporary: error.temporary || temporaryCodes.has(error.code), message: `${error.code}: ${error.message}` };
  }
  if (error instanceof ConnectionError) return { temporary: true, message: `${error.code}: ${error.hint}` };
  if (error instanceof ApiError) {
    const temporary = error.status === 409 || error.status === 429 || error.status >= 500;
    return { temporary, message: `${error.code}: the API server returned status ${error.status}` };
  }
  return { temporary: false, message: 'rollout/unexpected: unexpected error, see the log of the platform' };
}

/** Whether this process lost its leadership and must not write any more. The next leader continues. */
export const isFenced = (error: unknown): boolean => error instanceof FenceError;
