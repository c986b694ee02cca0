/**
 * How often a user may call (docs/requirements.md, 002, Rate Limiting): so many requests within any minute. Each replica lets its share
 * through, so that all together let through what is listed, whichever of them a request reaches.
 */
import type { Clock } from '../runtime/index.ts';
import { Problem, retryAfter } from '../runtime/internal.ts';

export interface RateLimiter {
  /** Throws a 429. `what` is what the limit is on, for example `POST /api/v1/deployments`. */
  spend(user: string, what: string, perMinute: number): void;
}

const windowMilliseconds = 60_000;
/** Of users and what they call. Beyond it, whoever was heard longest ago begins anew. */
const mostWindows = 20_000;

export function rateLimiter({ clock, replicas }: { clock: Clock; replicas: () => number }): RateLimiter {
  /** When the requests within the last minute came, the oldest first. */
  const windows = new Map<string, number[]>();
  return {
    spend(user, what, perMinute) {
      const key = `${what}\n${user}`;
      const now = clock.monotonic();
      const came = (windows.get(key) ?? []).filter((at) => now - at < windowMilliseconds);
      windows.delete(key);
      windows.set(key, came);
      if (windows.size > mostWindows) windows.delete(windows.keys().next().value ?? '');
      // Where there are more replicas than requests, one each: none would be none at all.
      const share = Math.max(1, Math.floor(perMinute / Math.max(1, replicas())));
      if (came.length < share) {
        came.push(now);
        return;
      }
      const wait = windowMilliseconds - (now - (came[came.length - share] ?? now));
      throw new Problem(
        429,
        'rate-limited',
        `rate limit exceeded: ${what} allows ${perMinute} requests per minute and user`,
        {
          headers: retryAfter(wait),
        },
      );
    },
  };
}
