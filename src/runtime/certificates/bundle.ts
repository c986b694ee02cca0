/** What passes between an authority and those who serve its leaf or verify it. */
import type { KeyPair } from './issue.ts';

export interface Bundle {
  /** Authorities that clients shall trust, PEM. */
  readonly pem: string;
  readonly generation: number;
}

/**
 * Brings the bundle to those who verify us (webhook configurations …). Called again and again; must not replace a bundle of a
 * later generation: a replica that was suspended publishes late.
 */
export type PublishBundle = (bundle: Bundle) => Promise<Publication>;

/** What consumers hold after publishing, and what they held before. Where there is no consumer yet, both are what was to be published. */
export interface Publication {
  readonly before: Bundle;
  readonly held: Bundle;
}

export interface CertificateSource {
  current(): KeyPair;
  /** What clients need to verify `current`. */
  bundle(): Bundle;
  /** Called when the leaf or the bundle changes, before the change is reported. Returns the function that unsubscribes. */
  subscribe(listener: () => void): () => void;
}
