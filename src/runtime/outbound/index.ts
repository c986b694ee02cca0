/**
 * Requests to servers that are neither ours nor an API server.
 *
 * In: addresses that users have configured. Out: bounded, strictly parsed JSON. It must not know what the documents are for.
 */
export {
  type DocumentAddress,
  type FetchDocumentOptions,
  fetchDocument,
  isSafeToReach,
  readAtMost,
} from './document.ts';
export { type AddressGuard, AddressRefusedError, addressGuard, portOf } from './guard.ts';
export { isLoopback } from './loopback.ts';
export { parseStrictly, problemOfValue } from './strict-json.ts';
