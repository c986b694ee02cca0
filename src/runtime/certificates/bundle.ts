/** The types shared by an authority and by the servers and clients that use its certificates. */
import type { KeyPair } from './issue.ts';

export interface Bundle {
  /** The authorities that clients must trust, in PEM. */
  readonly pem: string;
  readonly generation: number;
}

/**
 * Publishes the bundle to its consumers, for example to webhook configurations. It is called repeatedly and must not
 * replace a bundle of a later generation, because a replica that was suspended publishes late.
 */
export type PublishBundle = (bundle: Bundle) => Promise<Publication>;

/** The bundles that consumers held before and after publishing. Without a consumer, both are the published bundle. */
export interface Publication {
  readonly before: Bundle;
  readonly held: Bundle;
}

export interface CertificateSource {
  current(): KeyPair;
  /** The bundle that verifies `current`. */
  bundle(): Bundle;
  /**
   * The listener is called when the leaf or the bundle changes, before the change is reported. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: () => void): () => void;
}
