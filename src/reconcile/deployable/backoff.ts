/** How long to wait before something is tried again: a value of what happened before, so that a restart changes nothing. */
import { createHash } from 'node:crypto';
import type { Settings } from './deployable.ts';

/** Doubles with each failure; a share of it, other for each `seed`, keeps many objects from coming back at one moment. */
export function backoff(failures: number, seed: string, settings: Settings): number {
  const { retryMilliseconds, longestRetryMilliseconds } = settings;
  const whole = Math.min(retryMilliseconds * 2 ** Math.max(0, failures - 1), longestRetryMilliseconds);
  return Math.round(whole * (0.5 + 0.5 * share(`${seed} ${failures}`)));
}

/** From 0 up to 1, always the same for one text. */
export function share(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

export const instantOf = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Milliseconds since 1970; what is no instant lies far back, so that nobody waits for it. */
export function millisecondsOf(instant: string | undefined): number {
  const at = Date.parse(instant ?? '');
  return Number.isNaN(at) ? 0 : at;
}
