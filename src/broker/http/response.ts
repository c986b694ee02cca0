/** What a broker's answer over HTTP means. A decision from values: nothing is sent here. */

import { parseStrictly } from '../../runtime/internal.ts';
import { ChannelError, type ChannelFailure } from '../channel.ts';

export interface BrokerResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Uint8Array;
}

/** Undefined where the broker has taken it. `now`: milliseconds since 1970. */
export function failureOf(answer: BrokerResponse, deploymentId: string, now: number): ChannelError | undefined {
  const { status } = answer;
  if (status >= 200 && status < 300) {
    if (isReceipt(answer.body, deploymentId)) return undefined;
    // A proxy's login page is a 200 too. What was not certainly taken is sent again.
    return httpError('unavailable', `it answered ${status}, but not as a broker does that has taken ${deploymentId}`);
  }
  const retryAfterMilliseconds = parseRetryAfter(answer.retryAfter, now);
  const [kind, what] = meaningOf(status);
  return httpError(kind, `it answered ${status}${what}`, retryAfterMilliseconds);
}

function meaningOf(status: number): readonly [ChannelFailure, string] {
  if (status === 429) return ['throttled', ': too many requests'];
  if (status === 408 || status === 504) return ['timeout', ''];
  // It may not have our newest key yet: the next token may do.
  if (status === 401) return ['unavailable', ': it does not believe our token'];
  if (status >= 500) return ['unavailable', ''];
  if (status >= 300 && status < 400)
    return ['refused', ': redirects are not followed; mend spec.endpoint of the Broker'];
  if (status === 413) return ['refused', ': the request is too large for it'];
  return ['refused', status === 404 ? ': there is no broker at spec.endpoint' : ''];
}

function isReceipt(body: Uint8Array, deploymentId: string): boolean {
  const parsed = parseStrictly(body);
  const value = 'value' in parsed ? parsed.value : undefined;
  return typeof value === 'object' && value !== null && 'deploymentId' in value && value.deploymentId === deploymentId;
}

/** An hour at most, whatever it says. */
const longestWait = 3_600_000;

/** Seconds, or a date. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const milliseconds = /^[0-9]{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(milliseconds) ? Math.min(Math.max(0, milliseconds), longestWait) : undefined;
}

export function httpError(
  kind: ChannelFailure,
  message: string,
  retryAfterMilliseconds?: number,
  cause?: unknown,
): ChannelError {
  return new ChannelError({
    channel: 'HTTP',
    failure: kind,
    message,
    cause,
    ...(retryAfterMilliseconds === undefined ? {} : { retryAfterMilliseconds }),
  });
}
