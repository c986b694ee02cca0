/**
 * Rate limits per user (docs/requirements.md, 002, Rate Limiting): a number of requests within any 60 seconds. Each
 * replica enforces its share, so that all replicas together allow the documented rate.
 */
import type { Clock } from '../runtime/index.ts';
import { Problem, retryAfter } from '../runtime/internal.ts';

export interface RateLimiter {
  /** Throws a 429. `what` names the limited endpoint, for example `POST /api/v1/deployments`. */
  spend(user: string, what: string, perMinute: number): void;
}

const windowMilliseconds = 60_000;
/** Maximum number of windows (one per user and endpoint). Beyond it the least recently used window is dropped. */
const mostWindows = 20_000;

export function rateLimiter({ clock, replicas }: { clock: Clock; replicas: () => number }): RateLimiter {
  /** Times of the requests within the last minute, the oldest first. */
  const windows = new Map<string, number[]>();
  return {
    spend(user, what, perMinute) {
      const key = `${what}\n${user}`;
      const now = clock.monotonic();
      const came = (windows.get(key) ?? []).filter((at) => now - at < windowMilliseconds);
      windows.delete(key);
      windows.set(key, came);
      if (windows.size > mostWindows) windows.delete(windows.keys().next().value ?? '');
      // With more replicas than requests per minute, each allows one, because zero would block the endpoint.
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
