/** What went wrong on a cluster, for a status that everybody may read: nothing that a chart or a server may have quoted from a secret. */
import { FleetError } from '../../../../fleet/index.ts';
import { ApiError, ConnectionError, FenceError } from '../../../../runtime/index.ts';
import type { Failure } from '../decide/outcomes.ts';

/** Where the answer is that nobody knows yet, and asking again may help. */
const temporaryCodes = new Set(['cluster/unreachable', 'chart/unreachable']);

export function failureOf(error: unknown): Failure {
  if (error instanceof FleetError) {
    return { temporary: error.temporary || temporaryCodes.has(error.code), message: `${error.code}: ${error.message}` };
  }
  if (error instanceof ConnectionError) return { temporary: true, message: `${error.code}: ${error.hint}` };
  if (error instanceof ApiError) {
    const temporary = error.status === 409 || error.status === 429 || error.status >= 500;
    return { temporary, message: `${error.code}: the API server answered ${error.status}` };
  }
  return { temporary: false, message: 'rollout/unexpected: the log of the platform says more' };
}

/** This process may not write any more: nothing is known, and the next one goes on. */
export const isOurEnd = (error: unknown): boolean => error instanceof FenceError;
