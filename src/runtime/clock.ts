/** Time as the runtime sees it: passed in, so that a test can hold it still (`FakeClock` in testing.ts). */

export interface Clock {
  /** The wall clock, in milliseconds since 1970. It may be stepped, and goes on while the machine sleeps. */
  now(): number;
  /** Milliseconds that never step back. They go on while the process is stopped (SIGSTOP), not while the machine sleeps. */
  monotonic(): number;
  /** Calls back once, later, or up to a millisecond early: who must not be early looks at the clock. Returns what cancels it. */
  schedule(milliseconds: number, callback: () => void): () => void;
}

/** Node fires a timer that is longer than this at once; callers re-arm, so firing early is harmless and firing at once is not. */
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(milliseconds, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, milliseconds), longestTimer));
    return () => clearTimeout(timer);
  },
};

/** Resolves after this long, or as soon as the signal is aborted; never rejects. */
export function sleep(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = () => {
      cancel();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const cancel = clock.schedule(milliseconds, wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}

/** metav1.MicroTime, of the wall clock: for people, nothing is decided by it. */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}
