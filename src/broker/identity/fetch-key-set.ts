/**
 * Fetches a JSON Web Key Set. The address comes from a Broker object and what answers there is not ours: nothing is followed
 * (a redirect could lead inside the cluster), nothing is waited for long, and no more is read than a key set can have.
 */
import { type DocumentAddress, type FetchDocumentOptions, fetchDocument } from '../../runtime/internal.ts';
import { type KeySet, readKeySet } from './public-keys.ts';

export type KeySetAddress = DocumentAddress;
export type FetchOptions = FetchDocumentOptions;
export type FetchKeySet = (address: KeySetAddress) => Promise<KeySet>;

/** Rejects with a plain Error that says what went wrong. */
export async function fetchKeySet(address: KeySetAddress, options: FetchOptions = {}): Promise<KeySet> {
  const keys = await readKeySet(await fetchDocument(address, options));
  if (keys === undefined)
    throw new Error(`${new URL(address.url).host} answered with something that is no JSON Web Key Set`);
  return keys;
}
