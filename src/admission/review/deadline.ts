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

/** The longest timeout of an API server. */
const longestMilliseconds = 30_000;
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

/** `timeoutIn` parses the timeout in the query, in milliseconds. */
export function timeoutIn(query: string): number {
  // The form that API servers send, without the cost of a parser.
  const plain = /^timeout=(\d{1,2})s$/.exec(query);
  if (plain !== null) return bounded(Number(plain[1]) * 1000);
  return durationOf(new URLSearchParams(query).get('timeout'));
}

export function durationOf(timeout: string | null): number {
  const parts = [...(timeout ?? '').matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const written = parts.map(([part]) => part).join('');
  if (timeout === null || timeout === '' || written !== timeout) return defaultMilliseconds;
  return bounded(parts.reduce((sum, [, number, unit]) => sum + Number(number) * millisecondsIn(unit), 0));
}

const bounded = (milliseconds: number): number => Math.min(Math.max(milliseconds, 1), longestMilliseconds);

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
