/** Deadline for something on a cluster: asked again and again, at first often, until it is so or the time is over. */
import type { Clock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';

export interface Deadline {
  readonly clock: Clock;
  /** By the clock that never steps back. */
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
}

const slowest = 1_000;

export const deadlineIn = (clock: Clock, milliseconds: number, signal?: AbortSignal): Deadline => ({
  clock,
  deadline: clock.monotonic() + milliseconds,
  signal,
});

/** False where the time was over first. What the question throws is thrown. */
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
