/**
 * Which keys there are and what each is for at a moment. Nothing but time decides, so that replicas which have read the same document
 * agree without speaking to each other: a new key is published a while before it is used, so that whoever verifies has it by then,
 * and one that is no longer used stays published, since what it has signed may still be read from Kafka.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { JWK } from 'jose';

export interface StoredKey {
  readonly keyId: string;
  readonly use: 'sig' | 'enc';
  /** Milliseconds since 1970: used from then on, until the next of its use is. */
  readonly usedFrom: number;
  readonly publicKey: JWK;
  readonly privateKey: JWK;
}

/** All in milliseconds. */
export interface KeyLives {
  /** How long a key is used. */
  readonly use: number;
  /** How long it is published before it is used. */
  readonly ahead: number;
  /** How long it is kept after its use: longer than Kafka keeps what it has signed, or what was encrypted to it. */
  readonly overlap: number;
}

const day = 86_400_000;
/** Kafka keeps messages for 7 days where nobody says otherwise. */
export const defaultLives: KeyLives = { use: 30 * day, ahead: 900_000, overlap: 8 * day };

/** The one in use; undefined where there is none yet. */
export function activeKey(keys: readonly StoredKey[], use: StoredKey['use'], now: number): StoredKey | undefined {
  const ofUse = keys.filter((key) => key.use === use).sort((left, right) => left.usedFrom - right.usedFrom);
  // Clocks of replicas differ by a little: the first key is used even where its time seems not to have come.
  return ofUse.findLast(({ usedFrom }) => usedFrom <= now) ?? ofUse[0];
}

/** What the keys ought to be now. The same list where nothing is to be done. `force`: a new one of each use, whatever the age. */
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
    // One that is not in use yet is the next one already.
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

/** Undefined where the text is nothing that was written here. */
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
