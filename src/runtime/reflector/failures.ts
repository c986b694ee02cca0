/** Classifies the failures of a watch by their remedy. */
import { ApiError, ConnectionError, type StatusDetails } from '../errors.ts';

export function endedAtOnce(plural: string): ConnectionError {
  return new ConnectionError({
    doing: `watch ${plural}`,
    failure: 'reset',
    message: 'the server ended the watch at once, without an event',
    hint: 'Look into its log if this goes on',
  });
}

export function silence(plural: string, milliseconds: number): ConnectionError {
  return new ConnectionError({
    doing: `watch ${plural}`,
    failure: 'timeout',
    message: `neither an event nor a bookmark came for ${milliseconds} ms`,
    hint: 'Check the network on the way to the API server if this goes on',
  });
}

/** Returns whether the server failed internally, as opposed to rejecting the request or being busy. */
export function isServerFault(error: Error): boolean {
  return error instanceof ApiError && (error.status === 400 || error.status === 500 || error.status === 504);
}

/**
 * Returns whether the history of the server ends before the version of the store: it was restored from an older
 * snapshot.
 */
export function isBeyondHistory(error: Error): boolean {
  return (
    error instanceof ApiError &&
    (error.details.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') === true ||
      error.message.includes('Too large resource version'))
  );
}

export function statusOf(object: unknown, plural: string): ApiError {
  const status = (typeof object === 'object' && object !== null ? object : {}) as {
    code?: number;
    reason?: string;
    message?: string;
    details?: StatusDetails;
  };
  return new ApiError({
    doing: `watch ${plural}`,
    status: status.code ?? 500,
    reason: status.reason ?? 'Unknown',
    message: status.message ?? 'the server sent an error without a message',
    ...(status.details === undefined ? {} : { details: status.details }),
  });
}
