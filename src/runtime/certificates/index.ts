/**
 * Self-managed certificates: an authority and the leaf that servers present, shared by all replicas and rotated before
 * they expire. Clients can verify every certificate at any time.
 *
 * In: a store (Secrets of a cluster, a directory, memory), the names to serve, and a function that publishes the
 * bundle. Out: the current leaf and the bundle that verifies it. It must not know what is served, or who consumes the
 * bundle.
 */
export { type Authority, type AuthorityOptions, startAuthority } from './authority.ts';
export type { Bundle, CertificateSource, Publication, PublishBundle } from './bundle.ts';
export { clusterStore } from './cluster-store.ts';
export { issueAuthority, issueLeaf, type KeyKind, type KeyPair } from './issue.ts';
export type { CertificateLives } from './lives.ts';
export { directoryStore, memoryStore } from './local-store.ts';
