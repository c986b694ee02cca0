/** Limits a broker to a rate of reports (Broker.spec.rateLimit) and a number of concurrent requests. */
import type { Clock } from '../../runtime/index.ts';
import { Problem, retryAfter } from '../../runtime/internal.ts';

export interface RateLimit {
  readonly requestsPerSecond: number;
  /** Default: ten times `requestsPerSecond`. */
  readonly burst?: number | undefined;
}

/** Sized for a thousand objects that become ready at once and report a few times each. */
const defaultLimit: RateLimit = { requestsPerSecond: 200, burst: 2000 };
const maxAtOnce = 32;
/** Only existing Brokers have an account. Beyond this number the least recently seen one is reset. */
const maxBrokers = 1000;

interface Account {
  tokens: number;
  at: number;
  open: number;
}

interface Limiter {
  /** Starts a request, and returns the function that ends it. Throws a 429 if there are too many concurrent ones. */
  acquire(broker: string): () => void;
  /** Throws a 429 if there are too many reports. `paid` is how many of them are already accounted for. */
  spend(broker: string, reports: number, paid?: number): void;
}

export function limiter(limitOf: (broker: string) => RateLimit | undefined, clock: Clock): Limiter {
  const accounts = new Map<string, Account>();

  function accountOf(broker: string): Account {
    const account = accounts.get(broker) ?? { tokens: Number.POSITIVE_INFINITY, at: clock.monotonic(), open: 0 };
    accounts.delete(broker);
    accounts.set(broker, account);
    if (accounts.size > maxBrokers) accounts.delete(accounts.keys().next().value ?? '');
    return account;
  }

  return {
    acquire(broker) {
      const account = accountOf(broker);
      if (account.open >= maxAtOnce) {
        throw new Problem(429, 'too-many-at-once', `a broker may have at most ${maxAtOnce} concurrent requests`, {
          headers: retryAfter(1000),
        });
      }
      account.open += 1;
      let ended = false;
      return () => {
        if (!ended) account.open -= 1;
        ended = true;
      };
    },
    spend(broker, reports, paid = 0) {
      const { requestsPerSecond, burst = requestsPerSecond * 10 } = limitOf(broker) ?? defaultLimit;
      const account = accountOf(broker);
      const now = clock.monotonic();
      account.tokens = Math.min(burst, account.tokens + ((now - account.at) / 1000) * requestsPerSecond);
      account.at = now;
      // A batch larger than the burst waits for a full bucket; otherwise it would never pass.
      const cost = Math.min(reports, burst) - paid;
      if (account.tokens < cost) {
        const wait = ((cost - account.tokens) / requestsPerSecond) * 1000;
        const message = `Broker ${broker} may send ${requestsPerSecond} reports per second (spec.rateLimit)`;
        throw new Problem(429, 'rate-limited', message, { headers: retryAfter(wait) });
      }
      account.tokens -= cost;
    },
  };
}
