/** Polls a condition on a cluster, frequently at first, until it holds or the deadline passes. */
import type { Clock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';

export interface Deadline {
  readonly clock: Clock;
  /** Monotonic time. */
  readonly deadline: number;
  /** The total timeout, for messages. */
  readonly milliseconds: number;
  readonly signal?: AbortSignal | undefined;
}

const slowest = 1_000;

export const deadlineIn = (clock: Clock, milliseconds: number, signal?: AbortSignal): Deadline => ({
  clock,
  deadline: clock.monotonic() + milliseconds,
  milliseconds,
  signal,
});

/** `waitUntil` returns false after the deadline. Errors of the question are thrown. */
export async function waitUntil(
  { clock, deadline, signal }: Deadline,
  question: () => Promise<boolean>,
): Promise<boolean> {
  for (let pause = 50; ; pause = Math.min(slowest, pause * 1.5)) {
    signal?.throwIfAborted();
    if (await question()) return true;
    if (clock.monotonic() >= deadline) return false;
    await sleep(clock, Math.min(pause, Math.max(1, deadline - clock.monotonic())), signal);
  }
}
