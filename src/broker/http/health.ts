/** Tracks whether brokers answer. After each consecutive failure a broker is avoided for longer. */
import type { Clock } from '../../runtime/index.ts';

interface Health {
  isHealthy(name: string): boolean;
  succeeded(name: string): void;
  /** `milliseconds` is how long to avoid the broker, if it said so. */
  failed(name: string, milliseconds?: number): void;
}

const firstPause = 1000;
const longestPause = 30_000;
/** The least recently failed broker is forgotten first, and then counts as healthy. */
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
