/** Interprets the HTTP response of a broker. These are pure functions: nothing is sent here. */

import { parseStrictly } from '../../runtime/internal.ts';
import { ChannelError, type ChannelFailure } from '../channel.ts';

export interface BrokerResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Uint8Array;
}

/** Returns why the broker did not accept the request; undefined if it did. `now` is in milliseconds since 1970. */
export function failureOf(answer: BrokerResponse, deploymentId: string, now: number): ChannelError | undefined {
  const { status } = answer;
  if (status >= 200 && status < 300) {
    if (isReceipt(answer.body, deploymentId)) return undefined;
    // A login page of a proxy is a 200 too. A request that was not certainly accepted is sent again.
    return httpError('unavailable', `the broker answered ${status} without a receipt for ${deploymentId}`);
  }
  const retryAfterMilliseconds = parseRetryAfter(answer.retryAfter, now);
  const [kind, what] = meaningOf(status);
  return httpError(kind, `the broker answered ${status}${what}`, retryAfterMilliseconds);
}

function meaningOf(status: number): readonly [ChannelFailure, string] {
  if (status === 429) return ['throttled', ': too many requests'];
  if (status === 408 || status === 504) return ['timeout', ''];
  // The broker might not have the platform's newest key yet, so a later token may be accepted.
  if (status === 401) return ['unavailable', ': it rejected the token of the platform'];
  if (status >= 500) return ['unavailable', ''];
  if (status >= 300 && status < 400)
    return ['refused', ': redirects are not followed; correct spec.endpoint of the Broker'];
  if (status === 413) return ['refused', ': the request is too large'];
  return ['refused', status === 404 ? ': there is no broker at spec.endpoint' : ''];
}

function isReceipt(body: Uint8Array, deploymentId: string): boolean {
  const parsed = parseStrictly(body);
  const value = 'value' in parsed ? parsed.value : undefined;
  return typeof value === 'object' && value !== null && 'deploymentId' in value && value.deploymentId === deploymentId;
}

/** The longest wait that a broker can ask for: one hour. */
const longestWait = 3_600_000;

/** Parses a `Retry-After` header, which has seconds or a date. */
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
