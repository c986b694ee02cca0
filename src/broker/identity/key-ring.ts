/** The keys of the platform or of a broker: signs, issues tokens, decrypts, and rotates automatically. */
import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { CompactSign, SignJWT } from 'jose';
import { type Clock, ConfigError, type Logger, silentLogger, systemClock } from '../../runtime/index.ts';
import { LONGEST_TOKEN_SECONDS } from './claims.ts';
import { decryptWith, ENCRYPTION_ALGORITHM } from './encryption.ts';
import {
  activeKey,
  decodeKeys,
  defaultLives,
  encodeKeys,
  type KeyLives,
  type StoredKey,
  scheduleKeys,
} from './key-schedule.ts';
import type { KeyStore } from './key-store.ts';

export interface KeyRingOptions {
  /**
   * `iss` and `sub` of tokens and signatures: `kidp` for the platform; for a broker as in its Broker object, by default
   * its name.
   */
  readonly issuer: string;
  readonly subject: string;
  readonly log?: Logger;
  readonly clock?: Clock;
  readonly lives?: Partial<KeyLives>;
  /** How often the store is read, for keys of other replicas and for due rotations. Default: a minute. */
  readonly refreshMilliseconds?: number;
}

interface TokenRequest {
  readonly audience: string;
  /** One scope, or several separated by spaces. */
  readonly scope: string;
  /** Default: five minutes. Maximum: one hour. */
  readonly ttlSeconds?: number;
}

interface PublicKeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

export interface KeyRing {
  readonly issuer: string;
  readonly subject: string;
  /** Signs bytes with a detached JWS: the header `signature` of a Kafka message. */
  sign(bytes: Uint8Array): Promise<string>;
  /** Returns a token; the same one until it is close to expiry. */
  token(request: TokenRequest): Promise<string>;
  /** The public keys for `/.well-known/jwks.json`. */
  jwks(): PublicKeySet;
  /** The public key that credentials must be encrypted to now: `replyTo.encryptionKey`. */
  encryptionKey(): Readonly<Record<string, unknown>>;
  /** Rejects with a `DecryptionError` if the value can never be decrypted. */
  decrypt(jwe: string): Promise<Record<string, string>>;
  /** Creates new keys at once. They are published first and used once others can have fetched them. */
  rotate(): Promise<void>;
  /** Stops the automatic rotation; keys that were read keep working. */
  close(): void;
}

/** The number of cached tokens, by audience and scope. */
const maxTokens = 1000;

export async function openKeyRing(store: KeyStore, options: KeyRingOptions): Promise<KeyRing> {
  const { issuer, subject, log = silentLogger, clock = systemClock, refreshMilliseconds = 60_000 } = options;
  const lives = { ...defaultLives, ...options.lives };
  const tokens = new Map<string, { readonly text: string; readonly until: number }>();
  let keys = await syncKeys(store, lives, clock);

  let closed = false;
  let cancel = () => {};
  const scheduleRefresh = () => {
    cancel = clock.schedule(refreshMilliseconds, () => {
      syncKeys(store, lives, clock, { known: keys })
        .then((read) => {
          keys = read;
        })
        .catch((error: unknown) => log.warn('cannot refresh the keys', { place: store.place, error }))
        .finally(() => {
          if (!closed) scheduleRefresh();
        });
    });
  };
  scheduleRefresh();

  const keyFor = (use: StoredKey['use']): StoredKey => {
    const key = activeKey(keys, use, clock.now());
    if (key === undefined) throw new Error(`no key with use ${use} in ${store.place}`);
    return key;
  };

  return {
    issuer,
    subject,
    async sign(bytes) {
      const key = keyFor('sig');
      const jws = await new CompactSign(bytes)
        .setProtectedHeader({ alg: 'EdDSA', kid: key.keyId, iss: issuer, sub: subject })
        .sign(signingKeyOf(key));
      const [head, , signature] = jws.split('.');
      return `${head}..${signature}`;
    },
    async token({ audience, scope, ttlSeconds = 300 }) {
      const seconds = Math.min(ttlSeconds, LONGEST_TOKEN_SECONDS);
      const id = JSON.stringify([audience, scope, seconds]);
      const now = clock.now();
      const made = tokens.get(id);
      if (made !== undefined && made.until > now) return made.text;
      const key = keyFor('sig');
      const issuedAt = Math.floor(now / 1000);
      const text = await new SignJWT({ scope })
        .setProtectedHeader({ alg: 'EdDSA', kid: key.keyId, typ: 'JWT' })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(audience)
        .setIssuedAt(issuedAt)
        .setNotBefore(issuedAt)
        .setExpirationTime(issuedAt + seconds)
        .sign(signingKeyOf(key));
      tokens.delete(id);
      tokens.set(id, { text, until: now + seconds * 750 });
      if (tokens.size > maxTokens) tokens.delete(tokens.keys().next().value ?? '');
      return text;
    },
    jwks: () => ({ keys: keys.map(toJwk) }),
    encryptionKey: () => toJwk(keyFor('enc')),
    decrypt: (jwe) =>
      decryptWith((keyId) => keys.find((key) => key.use === 'enc' && key.keyId === keyId)?.privateKey, jwe),
    async rotate() {
      keys = await syncKeys(store, lives, clock, { known: keys, force: true });
      log.info('created new keys', { place: store.place, usedInMilliseconds: lives.ahead });
    },
    close() {
      closed = true;
      cancel();
    },
  };
}

/** Parsed keys: parsing one for each message would cost as much as the signature. */
const signingKeys = new WeakMap<StoredKey, KeyObject>();

function signingKeyOf(stored: StoredKey): KeyObject {
  const key = signingKeys.get(stored) ?? createPrivateKey({ key: stored.privateKey as JsonWebKey, format: 'jwk' });
  signingKeys.set(stored, key);
  return key;
}

const toJwk = ({ keyId, use, publicKey }: StoredKey): Readonly<Record<string, unknown>> => ({
  ...publicKey,
  kid: keyId,
  use,
  alg: use === 'sig' ? 'EdDSA' : ENCRYPTION_ALGORITHM,
});

const maxTries = 10;

/**
 * Reads the keys and writes those that are due. If another replica was faster, its keys are used. If the keys were
 * deleted, the `known` ones are written back, because data encrypted to them would be lost.
 */
async function syncKeys(
  store: KeyStore,
  lives: KeyLives,
  clock: Clock,
  { known = [], force = false }: { known?: readonly StoredKey[]; force?: boolean } = {},
): Promise<readonly StoredKey[]> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const { text, version } = await store.read();
    const present = text === undefined ? known : decodeKeys(text);
    if (present === undefined) {
      throw new ConfigError({
        code: 'keys',
        message: `The content of ${store.place} is not a valid key document`,
        hint: 'Restore the previous content, or delete it: new keys are then created, and data encrypted to the old ones is lost',
      });
    }
    const wanted = scheduleKeys(present, lives, clock.now(), force);
    if (wanted === present && text !== undefined) return wanted;
    if ((await store.write(encodeKeys(wanted), version)) === 'written') return wanted;
  }
  throw new Error(`cannot write the keys to ${store.place}: too many concurrent writes`);
}
