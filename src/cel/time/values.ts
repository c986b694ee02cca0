/** The ranges and arithmetic of timestamps and durations, in nanoseconds. */
import { CelError, Duration, INT_MAX, INT_MIN, Timestamp } from '../values.ts';

const MIN_SECONDS = -62135596800;
const MAX_SECONDS = 253402300799;
export const SECOND = 1_000_000_000n;

export function durationOf(nanoseconds: bigint): Duration | CelError {
  if (nanoseconds < INT_MIN || nanoseconds > INT_MAX) return new CelError('overflow', 'integer overflow');
  return new Duration(nanoseconds);
}

export function timestampOf(seconds: number, nanos: number, zone = 0): Timestamp | CelError {
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) return new CelError('overflow', 'timestamp overflow');
  return new Timestamp(seconds, nanos, zone);
}

export function addTime(time: Timestamp, nanoseconds: bigint): Timestamp | CelError {
  const total = BigInt(time.seconds) * SECOND + BigInt(time.nanos) + nanoseconds;
  const nanos = ((total % SECOND) + SECOND) % SECOND;
  return timestampOf(Number((total - nanos) / SECOND), Number(nanos), time.zone);
}

export function subtractTime(time: Timestamp, nanoseconds: bigint): Timestamp | CelError {
  // Go negates the duration first, which overflows for the smallest one.
  return nanoseconds === INT_MIN ? new CelError('overflow', 'integer overflow') : addTime(time, -nanoseconds);
}

export function timeBetween(later: Timestamp, earlier: Timestamp): Duration | CelError {
  return durationOf(BigInt(later.seconds - earlier.seconds) * SECOND + BigInt(later.nanos - earlier.nanos));
}
