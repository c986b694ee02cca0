/**
 * Fetches a JSON Web Key Set. The address comes from a Broker object and its server is not trusted: redirects are not
 * followed (one could lead into the cluster), and time and size are limited.
 */
import { type DocumentAddress, type FetchDocumentOptions, fetchDocument } from '../../runtime/internal.ts';
import { type KeySet, readKeySet } from './public-keys.ts';

export type KeySetAddress = DocumentAddress;
export type FetchOptions = FetchDocumentOptions;
export type FetchKeySet = (address: KeySetAddress) => Promise<KeySet>;

/** Fetches and parses a key set. Rejects with a plain Error that says what went wrong. */
export async function fetchKeySet(address: KeySetAddress, options: FetchOptions = {}): Promise<KeySet> {
  const keys = await readKeySet(await fetchDocument(address, options));
  if (keys === undefined) throw new Error(`${new URL(address.url).host} did not answer with a JSON Web Key Set`);
  return keys;
}
