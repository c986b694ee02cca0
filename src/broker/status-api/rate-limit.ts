/** How much a broker may say: so many reports a second (Broker.spec.rateLimit), and so many requests at once. */
import type { Clock } from '../../runtime/index.ts';
import { Problem, retryAfter } from '../../runtime/internal.ts';

export interface RateLimit {
  readonly requestsPerSecond: number;
  /** Default: what comes in in ten seconds. */
  readonly burst?: number | undefined;
}

/** A thousand objects that become ready at once report a few times each. */
const defaultLimit: RateLimit = { requestsPerSecond: 200, burst: 2000 };
const maxAtOnce = 32;
/** Names are those of Broker objects that exist. Beyond it, whoever was heard longest ago begins anew. */
const maxBrokers = 1000;

interface Account {
  tokens: number;
  at: number;
  open: number;
}

interface Limiter {
  /** A request begins. Throws a 429 where there are too many at once; returns what ends it. */
  acquire(broker: string): () => void;
  /** Throws a 429 where so many reports are too many now. `paid`: how many of them were paid for already. */
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
        throw new Problem(429, 'too-many-at-once', `at most ${maxAtOnce} requests of a broker at once`, {
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
      // A batch that is larger than the burst has to wait for a full one, or it would never pass.
      const cost = Math.min(reports, burst) - paid;
      if (account.tokens < cost) {
        const wait = ((cost - account.tokens) / requestsPerSecond) * 1000;
        const message = `${broker} may report ${requestsPerSecond} times a second (spec.rateLimit of its Broker)`;
        throw new Problem(429, 'rate-limited', message, { headers: retryAfter(wait) });
      }
      account.tokens -= cost;
    },
  };
}
