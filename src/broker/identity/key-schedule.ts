/**
 * Decides which keys exist and what each is used for at a given time. Only time decides, so replicas that read the same
 * document agree without coordination. A new key is published before it is used, so that verifiers have it by then; a
 * retired key stays published, because Kafka may still hold messages that it signed.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { JWK } from 'jose';

export interface StoredKey {
  readonly keyId: string;
  readonly use: 'sig' | 'enc';
  /** Used from this time on (milliseconds since 1970) until the next key with the same use is. */
  readonly usedFrom: number;
  readonly publicKey: JWK;
  readonly privateKey: JWK;
}

/** The life of a key, in milliseconds. */
export interface KeyLives {
  /** How long a key is used. */
  readonly use: number;
  /** How long it is published before it is used. */
  readonly ahead: number;
  /**
   * How long it is kept after its use: longer than Kafka retains messages that it signed or that are encrypted to it.
   */
  readonly overlap: number;
}

const day = 86_400_000;
/** By default Kafka retains messages for 7 days. */
export const defaultLives: KeyLives = { use: 30 * day, ahead: 900_000, overlap: 8 * day };

/** The active key; undefined if there is none yet. */
export function activeKey(keys: readonly StoredKey[], use: StoredKey['use'], now: number): StoredKey | undefined {
  const ofUse = keys.filter((key) => key.use === use).sort((left, right) => left.usedFrom - right.usedFrom);
  // The clocks of replicas differ a little: the first key is used even if its time seems to be in the future.
  return ofUse.findLast(({ usedFrom }) => usedFrom <= now) ?? ofUse[0];
}

/**
 * The keys that should exist now; the same list if nothing changes. `force` creates a new key for each use, whatever
 * the age.
 */
export function scheduleKeys(
  keys: readonly StoredKey[],
  lives: KeyLives,
  now: number,
  force = false,
): readonly StoredKey[] {
  const kept = keys.filter((key) => {
    const next = successorOf(key, keys);
    return next === undefined || next.usedFrom + lives.overlap > now;
  });
  const added = (['sig', 'enc'] as const).flatMap((use) => {
    const newest = keys.filter((key) => key.use === use).sort((left, right) => right.usedFrom - left.usedFrom)[0];
    if (newest === undefined) return [newKey(use, now)];
    const isDue = now >= newest.usedFrom + lives.use - lives.ahead;
    // A key that is not in use yet is already the next one.
    return (isDue || force) && newest.usedFrom <= now ? [newKey(use, now + lives.ahead)] : [];
  });
  return kept.length === keys.length && added.length === 0 ? keys : [...kept, ...added];
}

function successorOf(key: StoredKey, keys: readonly StoredKey[]): StoredKey | undefined {
  return keys
    .filter(({ use, usedFrom }) => use === key.use && usedFrom > key.usedFrom)
    .sort((left, right) => left.usedFrom - right.usedFrom)[0];
}

function newKey(use: StoredKey['use'], usedFrom: number): StoredKey {
  const { publicKey, privateKey } =
    use === 'sig' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    keyId: randomUUID(),
    use,
    usedFrom,
    publicKey: publicKey.export({ format: 'jwk' }) as JWK,
    privateKey: privateKey.export({ format: 'jwk' }) as JWK,
  };
}

export const encodeKeys = (keys: readonly StoredKey[]): string => JSON.stringify({ version: 1, keys });

/** Decodes a key document; undefined if the text is not one. */
export function decodeKeys(text: string): readonly StoredKey[] | undefined {
  try {
    const { version, keys } = JSON.parse(text) as { version?: unknown; keys?: unknown };
    if (version !== 1 || !Array.isArray(keys)) return undefined;
    return keys.every(isStoredKey) ? keys : undefined;
  } catch {
    return undefined;
  }
}

function isStoredKey(value: unknown): value is StoredKey {
  const { keyId, use, usedFrom, publicKey, privateKey } = (value ?? {}) as Partial<Record<keyof StoredKey, unknown>>;
  const isJwk = (key: unknown) => typeof key === 'object' && key !== null;
  return (
    typeof keyId === 'string' &&
    (use === 'sig' || use === 'enc') &&
    typeof usedFrom === 'number' &&
    isJwk(publicKey) &&
    isJwk(privateKey)
  );
}
