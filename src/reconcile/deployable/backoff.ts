/** Backoff as a pure function of past failures, so that a restart changes nothing. */
import { createHash } from 'node:crypto';
import type { Settings } from './deployable.ts';

/** `backoff` doubles with each failure. A stable jitter per `seed` keeps objects from retrying at the same moment. */
export function backoff(failures: number, seed: string, settings: Settings): number {
  const { retryMilliseconds, longestRetryMilliseconds } = settings;
  const whole = Math.min(retryMilliseconds * 2 ** Math.max(0, failures - 1), longestRetryMilliseconds);
  return Math.round(whole * (0.5 + 0.5 * share(`${seed} ${failures}`)));
}

/** `share` maps a text to a stable number from 0 up to 1. */
export function share(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

export const instantOf = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** `millisecondsOf` returns Unix milliseconds. An invalid time is far in the past, so that nothing waits for it. */
export function millisecondsOf(instant: string | undefined): number {
  const at = Date.parse(instant ?? '');
  return Number.isNaN(at) ? 0 : at;
}
