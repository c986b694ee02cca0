/**
 * Caches fetched keys. An unknown key id triggers a new fetch, because keys rotate; the rate of such fetches is
 * limited, because anyone can send made-up key ids. If a fetch fails, cached keys stay valid for a while: a broker
 * whose key server is down is still that broker.
 */
import type { Clock } from '../../runtime/index.ts';
import { TokenBucket } from '../../runtime/internal.ts';
import type { FetchKeySet, KeySetAddress } from './fetch-key-set.ts';
import { IdentityError } from './identity-error.ts';
import { quoteKeyId } from './jws.ts';
import type { VerificationKey } from './public-keys.ts';

interface KeyCacheOptions {
  readonly clock: Clock;
  readonly fetch: FetchKeySet;
  readonly onFetchFailed?: (address: KeySetAddress, error: unknown) => void;
  /** Keys are fetched again after this time. Default: 5 minutes. */
  readonly freshMilliseconds?: number | undefined;
  /**
   * Keys are used for this time if they cannot be fetched again, so a revoked key counts at most this long. Default: an
   * hour.
   */
  readonly staleMilliseconds?: number | undefined;
  /** The number of cached key sets. Default: 1000. */
  readonly most?: number | undefined;
}

export interface KeyCache {
  /** Rejects with an `IdentityError`: `unknown-key` or `keys-unavailable`. */
  find(address: KeySetAddress, keyId: string): Promise<VerificationKey>;
}

/** The rate of fetches that unknown key ids or failures trigger: 5 at once, then one every ten seconds. */
const refetches = { tokensPerSecond: 0.1, burst: 5 };

interface Entry {
  keys: ReadonlyMap<string, VerificationKey> | undefined;
  /** The start of the fetch that returned the keys. */
  fetchedAt: number;
  lastFailed: boolean;
  fetching: Promise<void> | undefined;
  readonly bucket: TokenBucket;
}

export function keyCache(options: KeyCacheOptions): KeyCache {
  const { clock, freshMilliseconds = 300_000, staleMilliseconds = 3_600_000, most = 1000 } = options;
  const entries = new Map<string, Entry>();

  /** The least recently used entry is evicted. */
  function entryOf({ url, caBundle = '' }: KeySetAddress): Entry {
    const id = `${url}\n${caBundle}`;
    const entry = entries.get(id) ?? {
      keys: undefined,
      fetchedAt: Number.NEGATIVE_INFINITY,
      lastFailed: false,
      fetching: undefined,
      bucket: new TokenBucket(refetches, () => clock.monotonic()),
    };
    entries.delete(id);
    entries.set(id, entry);
    if (entries.size > most) entries.delete(entries.keys().next().value ?? '');
    return entry;
  }

  /**
   * Runs one fetch per address at a time; all callers share it. If the last fetch failed, only the caller that starts
   * the next one waits: it will probably time out, and a waiting caller holds up others.
   */
  async function refresh(address: KeySetAddress, entry: Entry): Promise<void> {
    if (entry.fetching !== undefined && entry.lastFailed) return;
    if (entry.fetching === undefined) {
      if (!entry.bucket.tryTake()) return;
      const began = clock.monotonic();
      entry.fetching = options
        .fetch(address)
        .then((keys) => {
          entry.keys = keys;
          entry.fetchedAt = began;
          entry.lastFailed = false;
        })
        .catch((error: unknown) => {
          entry.lastFailed = true;
          options.onFetchFailed?.(address, error);
        })
        .finally(() => {
          entry.fetching = undefined;
        });
    }
    await entry.fetching;
  }

  return {
    async find(address, keyId) {
      const entry = entryOf(address);
      const age = () => clock.monotonic() - entry.fetchedAt;
      const asked = clock.monotonic();
      const isKnown = () => entry.keys?.has(keyId) === true;
      if (age() > freshMilliseconds || !isKnown()) await refresh(address, entry);
      // The fetch started before this call and may have missed a key that was published since.
      if (!isKnown() && entry.fetchedAt < asked && !entry.lastFailed) await refresh(address, entry);
      const isStale = age() > staleMilliseconds;
      const found = isStale ? undefined : entry.keys?.get(keyId);
      if (found !== undefined) return found;
      if (entry.keys === undefined || isStale || entry.lastFailed) {
        throw new IdentityError('keys-unavailable', 'the keys of the sender cannot be fetched now');
      }
      // The caller is not verified, so the message does not name the address, which may be internal.
      throw new IdentityError('unknown-key', `the sender does not publish a key ${quoteKeyId(keyId)}`);
    },
  };
}
