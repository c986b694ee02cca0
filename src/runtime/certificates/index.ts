/**
 * Certificates of our own: an authority and the leaf that servers show, rotated before they expire, shared by all replicas, and
 * turned without a client ever meeting a certificate that it cannot verify.
 *
 * In: where to keep them (a cluster's Secrets, a directory, memory), the names to serve, how to publish the bundle.
 * Out: the leaf of the moment, the bundle that verifies it, an HTTPS server that shows it.
 * It must not know: what is served, or who the consumers of the bundle are.
 */
export { type Authority, type AuthorityOptions, startAuthority } from './authority.ts';
export type { Bundle, CertificateSource, Publication, PublishBundle } from './bundle.ts';
export { type ClusterStoreOptions, clusterStore } from './cluster-store.ts';
export {
  type AuthorityRequest,
  issueAuthority,
  issueLeaf,
  type KeyKind,
  type KeyPair,
  type LeafRequest,
  type Validity,
} from './issue.ts';
export type { CertificateLives } from './lives.ts';
export { directoryStore, memoryStore } from './local-store.ts';
export type { AnswerPost, PostAnswer } from './posts.ts';
export { type ServeOptions, type Serving, serveHttps } from './serve.ts';
export type { CertificateStore } from './store.ts';
