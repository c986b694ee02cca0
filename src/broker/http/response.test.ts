import { describe, expect, test } from 'vitest';
import type { ChannelFailure } from '../channel.ts';
import { failureOf, parseRetryAfter } from './response.ts';

const now = Date.UTC(2026, 0, 1);
const taken = JSON.stringify({ deploymentId: 'u/1/0', outcome: 'accepted' });

interface Row {
  reason: string;
  status: number;
  body?: string;
  retryAfter?: string;
  failure: ChannelFailure | undefined;
  wait?: number;
}

const rows: Row[] = [
  { reason: 'the contract: 202 and a receipt', status: 202, body: taken, failure: undefined },
  { reason: 'any 2xx with a receipt', status: 200, body: taken, failure: undefined },
  { reason: 'a login page is no receipt', status: 200, body: '<html>', failure: 'unavailable' },
  { reason: 'nothing is no receipt', status: 204, body: '', failure: 'unavailable' },
  {
    reason: 'of another deployment',
    status: 202,
    body: JSON.stringify({ deploymentId: 'u/2/0' }),
    failure: 'unavailable',
  },
  {
    reason: 'a receipt that says two things',
    status: 202,
    body: `${taken.slice(0, -1)},"deploymentId":"u/1/0"}`,
    failure: 'unavailable',
  },
  { reason: 'redirects are not followed', status: 302, failure: 'refused' },
  { reason: 'malformed', status: 400, failure: 'refused' },
  { reason: 'its keys of us may be old', status: 401, failure: 'unavailable' },
  { reason: 'not allowed', status: 403, failure: 'refused' },
  { reason: 'nobody there', status: 404, failure: 'refused' },
  { reason: 'it gave up waiting', status: 408, failure: 'timeout' },
  { reason: 'too large', status: 413, failure: 'refused' },
  { reason: 'throttled, with seconds', status: 429, retryAfter: '7', failure: 'throttled', wait: 7000 },
  {
    reason: 'throttled, with a date',
    status: 429,
    retryAfter: 'Thu, 01 Jan 2026 00:00:09 GMT',
    failure: 'throttled',
    wait: 9000,
  },
  { reason: 'throttled, with nonsense', status: 429, retryAfter: 'soon', failure: 'throttled' },
  { reason: 'broken', status: 500, failure: 'unavailable' },
  { reason: 'going down, and says for how long', status: 503, retryAfter: '2', failure: 'unavailable', wait: 2000 },
  { reason: 'a proxy gave up waiting', status: 504, failure: 'timeout' },
];

test.each(rows)('$status: $reason', ({ status, body = '', retryAfter, failure, wait }) => {
  const error = failureOf({ status, retryAfter, body: Buffer.from(body) }, 'u/1/0', now);
  expect([error?.failure, error?.retryAfterMilliseconds]).toEqual([failure, wait]);
});

describe('Retry-After', () => {
  test.each([
    { header: undefined, milliseconds: undefined, reason: 'there is none' },
    { header: '0', milliseconds: 0, reason: 'at once' },
    { header: '999999999', milliseconds: 3_600_000, reason: 'nobody can park us for years' },
    { header: 'Wed, 31 Dec 2025 23:00:00 GMT', milliseconds: 0, reason: 'a date that has passed' },
    { header: '-5', milliseconds: 0, reason: 'Node reads it as a date long ago' },
    { header: '', milliseconds: undefined, reason: 'empty' },
  ])('$header: $reason', ({ header, milliseconds }) => {
    expect(parseRetryAfter(header, now)).toBe(milliseconds);
  });
});
