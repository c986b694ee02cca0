/**
 * Finds the key that credentials for a broker are encrypted to: the one with `use: enc` among its published keys. A
 * broker without such a key gets references only, which it can read if it runs in the management cluster.
 */

import type { Broker } from '../../api/index.ts';
import { type Clock, systemClock } from '../../runtime/index.ts';
import { fetchDocument } from '../../runtime/internal.ts';
import { keySetAddress } from './broker-verifier.ts';
import type { FetchOptions } from './fetch-key-set.ts';
import { isRecord } from './public-keys.ts';
import { publishedIdentity } from './published-identity.ts';

type EncryptionKey = Readonly<Record<string, unknown>>;

interface BrokerEncryptionOptions extends Pick<FetchOptions, 'insecureHttp' | 'guard'> {
  readonly clock?: Clock;
  /** Replaces fetching in tests. */
  readonly fetch?: typeof fetchDocument;
}

/** How long a fetched key is used. A broker keeps decrypting with its previous key after a rotation. */
const freshMilliseconds = 300_000;
const most = 1000;

/**
 * Returns a function that finds the key of a broker. It rejects if the keys cannot be fetched: the message must then be
 * retried.
 */
export function brokerEncryption(
  options: BrokerEncryptionOptions = {},
): (broker: Broker) => Promise<EncryptionKey | undefined> {
  const { clock = systemClock, insecureHttp, guard, fetch = fetchDocument } = options;
  const fetched = new Map<string, { readonly at: number; readonly key: Promise<EncryptionKey | undefined> }>();
  return async (broker) => {
    const given = publishedIdentity(broker)
      .publicKeys.map(asKey)
      .find((key) => key !== undefined);
    const address = keySetAddress(broker);
    if (given !== undefined || address === undefined) return given;
    const id = `${address.url}\n${address.caBundle ?? ''}`;
    const known = fetched.get(id);
    if (known !== undefined && clock.monotonic() - known.at < freshMilliseconds) return known.key;
    const key = fetch(address, { insecureHttp, guard }).then(encryptionKeyIn);
    fetched.delete(id);
    fetched.set(id, { at: clock.monotonic(), key });
    if (fetched.size > most) fetched.delete(fetched.keys().next().value ?? '');
    key.catch(() => fetched.delete(id));
    return key;
  };
}

function encryptionKeyIn(document: unknown): EncryptionKey | undefined {
  const keys = isRecord(document) && Array.isArray(document.keys) ? document.keys : [];
  return keys.find(isForEncryption);
}

function asKey(text: string): EncryptionKey | undefined {
  try {
    const key: unknown = JSON.parse(text);
    return isForEncryption(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

const isForEncryption = (key: unknown): key is EncryptionKey =>
  isRecord(key) &&
  key.use === 'enc' &&
  ((key.kty === 'EC' && key.crv === 'P-256') || (key.kty === 'OKP' && key.crv === 'X25519'));
