/**
 * The deadline of a review. The API server sends its timeout in the query of each call, as a Go duration:
 * `?timeout=5s`.
 */

export interface Deadline {
  /** The deadline in milliseconds since 1970. */
  readonly at: number;
  /** Returns a signal that is aborted at the deadline. It is created lazily, because most requests do not wait. */
  signal(): AbortSignal;
}

/** The timeout of a webhook that sets none. */
const defaultMilliseconds = 10_000;

export function deadlineIn(milliseconds: number): Deadline {
  const at = Date.now() + milliseconds;
  let signal: AbortSignal | undefined;
  return {
    at,
    signal() {
      signal ??= AbortSignal.timeout(Math.max(1, Math.ceil(at - Date.now())));
      return signal;
    },
  };
}

/**
 * `timeoutIn` parses the timeout in the query, in milliseconds. `longest` is the `timeoutSeconds` that the webhook is
 * registered with: the API server never waits longer, and another caller must not choose how long we work.
 */
export function timeoutIn(query: string, longest: number): number {
  // The form that API servers send, without the cost of a parser.
  const plain = /^timeout=(\d{1,2})s$/.exec(query);
  const asked = plain === null ? durationOf(new URLSearchParams(query).get('timeout')) : Number(plain[1]) * 1000;
  return Math.min(Math.max(asked, 1), longest);
}

function durationOf(timeout: string | null): number {
  const parts = [...(timeout ?? '').matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const written = parts.map(([part]) => part).join('');
  if (timeout === null || timeout === '' || written !== timeout) return defaultMilliseconds;
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * millisecondsIn(unit), 0);
}

function millisecondsIn(unit: string | undefined): number {
  switch (unit) {
    case 'ms':
      return 1;
    case 's':
      return 1000;
    case 'm':
      return 60_000;
    default:
      return 3_600_000;
  }
}
