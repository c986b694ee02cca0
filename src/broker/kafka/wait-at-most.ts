/** A wait with a time limit. */
import { systemClock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';

/** Resolves when the work has settled, or when the time is over. */
export async function waitAtMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const settled = work.then(
    () => ended.abort(),
    () => ended.abort(),
  );
  await Promise.race([settled, sleep(systemClock, milliseconds, ended.signal)]);
}
