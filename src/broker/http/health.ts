/** Whether somebody is worth asking, as far as the last answers tell. After each failure in a row it is left alone for longer. */
import type { Clock } from '../../runtime/index.ts';

interface Health {
  isHealthy(name: string): boolean;
  succeeded(name: string): void;
  /** `milliseconds`: how long to leave it alone, where it said so. */
  failed(name: string, milliseconds?: number): void;
}

const firstPause = 1000;
const longestPause = 30_000;
/** Whoever was asked longest ago is forgotten, and so counts as well. */
const maxNames = 1000;

export function healthTracker(clock: Clock): Health {
  const unhealthy = new Map<string, { readonly failures: number; readonly until: number }>();
  return {
    isHealthy: (name) => (unhealthy.get(name)?.until ?? Number.NEGATIVE_INFINITY) <= clock.monotonic(),
    succeeded: (name) => void unhealthy.delete(name),
    failed(name, milliseconds) {
      const failures = (unhealthy.get(name)?.failures ?? 0) + 1;
      const pause = milliseconds ?? Math.min(firstPause * 2 ** (failures - 1), longestPause);
      unhealthy.delete(name);
      unhealthy.set(name, { failures, until: clock.monotonic() + pause });
      if (unhealthy.size > maxNames) unhealthy.delete(unhealthy.keys().next().value ?? '');
    },
  };
}
