/**
 * Fetched keys, kept for a while. An id that is not known makes it fetch anew, since keys rotate; but whoever sends ids of their own
 * making must not be able to make us ask without end, so that is bounded. Keys that cannot be fetched anew go on for a while: a
 * broker whose key server is down is still that broker.
 */
import type { Clock } from '../../runtime/index.ts';
import { TokenBucket } from '../../runtime/internal.ts';
import type { FetchKeySet, KeySetAddress } from './fetch-key-set.ts';
import { IdentityError } from './identity-error.ts';
import type { VerificationKey } from './public-keys.ts';

interface KeyCacheOptions {
  readonly clock: Clock;
  readonly fetch: FetchKeySet;
  readonly onFetchFailed?: (address: KeySetAddress, error: unknown) => void;
  /** Fetched anew after this long. Default: 5 minutes. */
  readonly freshMilliseconds?: number | undefined;
  /** Used for so long where it cannot be fetched anew; a key that is taken back counts for so long at most. Default: an hour. */
  readonly staleMilliseconds?: number | undefined;
  /** How many key sets. Default: 1000. */
  readonly most?: number | undefined;
}

export interface KeyCache {
  /** Rejects with an `IdentityError`: `unknown-key` or `keys-unavailable`. */
  find(address: KeySetAddress, keyId: string): Promise<VerificationKey>;
}

/** Fetches because of unknown ids or failures: this many at once, then one in ten seconds. */
const refetches = { tokensPerSecond: 0.1, burst: 5 };

interface Entry {
  keys: ReadonlyMap<string, VerificationKey> | undefined;
  /** When the fetch that brought them began. */
  fetchedAt: number;
  lastFailed: boolean;
  fetching: Promise<void> | undefined;
  readonly bucket: TokenBucket;
}

export function keyCache(options: KeyCacheOptions): KeyCache {
  const { clock, freshMilliseconds = 300_000, staleMilliseconds = 3_600_000, most = 1000 } = options;
  const entries = new Map<string, Entry>();

  /** The one that was used longest ago makes room. */
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
   * One fetch at a time of one address, however many wait for it. Where the last one failed, only who began this one waits: it will most
   * likely take until its time is over, and whoever waits holds up others.
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
      // It was under way already, and may have missed a key that was published since.
      if (!isKnown() && entry.fetchedAt < asked && !entry.lastFailed) await refresh(address, entry);
      const isStale = age() > staleMilliseconds;
      const found = isStale ? undefined : entry.keys?.get(keyId);
      if (found !== undefined) return found;
      if (entry.keys === undefined || isStale || entry.lastFailed) {
        throw new IdentityError('keys-unavailable', `the keys at ${redactUrl(address.url)} cannot be had now`);
      }
      throw new IdentityError('unknown-key', `there is no such key at ${redactUrl(address.url)} now`);
    },
  };
}

/** Without what somebody may have written into it as a password. */
function redactUrl(text: string): string {
  const url = URL.parse(text);
  return url === null ? 'an address that is none' : `${url.origin}${url.pathname}`;
}
