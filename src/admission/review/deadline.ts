/** How long the API server will wait: it says so in the query of each call, `?timeout=5s`, a duration of Go. */

export interface Deadline {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Made when it is first asked for: most requests wait for nothing. */
  signal(): AbortSignal;
}

/** An API server gives up after 30 s at the latest. */
const longestMilliseconds = 30_000;

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

/** In milliseconds, from the text of the query. */
export function timeoutIn(query: string): number {
  // What every API server sends, without the cost of a parser.
  const plain = /^timeout=(\d{1,2})s$/.exec(query);
  if (plain !== null) return bounded(Number(plain[1]) * 1000);
  return durationOf(new URLSearchParams(query).get('timeout'));
}

export function durationOf(timeout: string | null): number {
  const parts = [...(timeout ?? '').matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const written = parts.map(([part]) => part).join('');
  if (timeout === null || timeout === '' || written !== timeout) return longestMilliseconds;
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
